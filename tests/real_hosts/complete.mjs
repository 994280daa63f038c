// Loads Pi's extension as Pi does, by its jiti, and prints what it completes each line to.
// usage: node complete.mjs JITI EXTENSION LINE...      prints a JSON list with an entry a line
import { pathToFileURL } from "node:url";

const [, , jitiPath, extension, ...lines] = process.argv;
const { createJiti } = await import(pathToFileURL(jitiPath).href);
const load = await createJiti(import.meta.url).import(extension, { default: true });

const handlers = {};
let command;
load({
	on: (event, handler) => (handlers[event] = handler),
	registerTool: () => {},
	registerCommand: (_name, options) => (command = options),
});
const context = { cwd: process.cwd(), hasUI: true, ui: {} };
await handlers.session_start({}, context);
const completed = [];
for (const line of lines) completed.push(await command.getArgumentCompletions(line));
await handlers.session_shutdown({}, context);
console.log(JSON.stringify(completed));
