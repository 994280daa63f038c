// Embeds batches as pi-local-rag does: one call of transformers.js a batch, mean, normalised.
// One JSON array of texts a line on stdin; one {vectors, seconds, cpu, rss} a line on stdout.
import { createInterface } from "node:readline";
import { env, pipeline } from "@xenova/transformers";

env.localModelPath = process.argv[2];
env.allowRemoteModels = false;
const extract = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { quantized: true });
console.log(JSON.stringify("ready"));

for await (const line of createInterface({ input: process.stdin })) {
  const texts = JSON.parse(line);
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const output = await extract(texts, { pooling: "mean", normalize: true });
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(startCpu); // microseconds, all threads
  const cpu = (used.user + used.system) / 1e6;
  const vectors = output.tolist();
  // Kilobytes on every system.
  const rss = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ vectors, seconds, cpu, rss }));
}
