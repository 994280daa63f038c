/**
 * rag_agent inside Pi. Decides nothing: it forwards to a `rag-agent serve --for pi` of its own,
 * MCP's JSON-RPC on stdin and stdout, whose tools rag_hook, rag_command and rag_complete answer
 * with what to inject, to say and to complete.
 *
 * One file, no dependency, and of Pi only a type: so it runs on Pi 0.73 with Node 20 as on Pi 1.x.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

// Milliseconds. The server keeps a turn's budget (300) by itself; this holds where it cannot, as
// while it starts (about 600).
const TURN = 1500;
const TURN_IN_PRINT_MODE = 5000; // where nobody waits at a keyboard and no second turn follows
const COMPLETION = 1500;
const START = 30_000; // a start, for tools and commands
const END = 1000; // an end, before it is enforced

type Level = "info" | "warning" | "error";
type Options = { signal?: AbortSignal; onProgress?: (message: string) => void; meta?: object };
type Pending = {
	resolve: (result: any) => void;
	reject: (error: Error) => void;
	onProgress?: (message: string) => void;
};

// What a model sees of the tools, word for word as rag_agent/server/tools.py has it: Pi wants them
// before a server runs.
const TOOLS = [
	{
		name: "rag_query",
		label: "Search the project",
		description:
			"Find the code and documents of this project that answer a question, by meaning and by words. Use it first whenever you look for where or how something is done, what a name means or which files concern a topic. Returns the best files, each as path:start-end with a score, which orders and says no more, and the lines that matter; a note says when no hit is sure.",
		parameters: {
			additionalProperties: false,
			properties: {
				query: {
					description:
						'A question in plain words ("where are webhook signatures checked?"), names from the code ("HTTPSHandler"), or both. Complete questions find more than single words.',
					type: "string",
				},
				limit: { default: 10, description: "Most files to return.", maximum: 50, minimum: 1, type: "integer" },
				where: {
					default: "",
					description:
						'Optional filter, applied before ranking: path:src/* ext:py kind:code (or prose, data) lang:python name:parse_url tag:x title:x author:"Ada L" year:>=2020 created:2025-06..2025-09 modified:>7d (in the last 7 days) page:3-5 after:2026-01-31 before:2026; -field:… excludes; the same field twice means either, of comparisons both; near:notes/plan.md leaves nothing out, it moves up what is linked with it.',
					type: "string",
				},
				max_tokens: {
					description:
						"Most tokens of text to return; what is cut is named. Without it as many as the question deserves: about 2000, and never more than 4000.",
					maximum: 20000,
					minimum: 200,
					type: "integer",
				},
			},
			required: ["query"],
			type: "object",
		},
		promptSnippet: "Search this project's code and documents by meaning and by words",
		promptGuidelines: [
			"Use rag_query first, before grep or reading files, to find where or how something is done; use grep for every occurrence of an exact string.",
		],
	},
	{
		name: "rag_index",
		label: "Index a folder or file",
		description:
			"Make a folder or file searchable by rag_query, or bring it up to date; only what changed is read. Returns within seconds: the rest of a large folder and the vectors follow in the background (rag_status tells how far). Nothing leaves the machine; secrets and files ignored by git are left out.",
		parameters: {
			additionalProperties: false,
			properties: {
				path: {
					default: ".",
					description:
						'Folder or file to index: absolute, or relative to the project ("." is the whole project).',
					type: "string",
				},
			},
			type: "object",
		},
		promptSnippet: "Make a folder or file searchable by rag_query",
	},
	{
		name: "rag_status",
		label: "State of the index",
		description:
			"What is indexed and what is being done to the index, as JSON: files, chunks, vectors, model, tracked paths, running work, files left out by reason.",
		parameters: { additionalProperties: false, properties: {}, type: "object" },
		promptSnippet: "Tell what of this project is indexed",
	},
];

/** The words that run rag-agent: of $RAG_AGENT_PROGRAM (a path, or a JSON list), of the installer, or its name. */
function program(): string[] {
	const named = process.env.RAG_AGENT_PROGRAM?.trim();
	if (named) return named.startsWith("[") ? JSON.parse(named) : [named];
	const written = join(dirname(fileURLToPath(import.meta.url)), "..", "program.json");
	if (existsSync(written)) {
		const words: string[] = JSON.parse(readFileSync(written, "utf8"));
		// A project's folder may come from another machine.
		if (!isAbsolute(words[0]) || existsSync(words[0])) return words;
	}
	return ["rag-agent"];
}

/** Whether stdout is for machines; only Pi 1.x names its mode. */
function speaksJson(ctx: ExtensionContext): boolean {
	return ctx.mode ? ctx.mode === "json" : process.argv.includes("json");
}

/** To stdout, where the model's answer goes: Pi's print mode turns process.stdout.write, so console.log, to stderr. */
function print(text: string): void {
	Object.getPrototypeOf(process.stdout).write.call(process.stdout, `${text}\n`);
}

/** Tokens left of the model's context window, so that nothing takes too much of them; nothing where Pi cannot say. */
function contextLeft(ctx: ExtensionContext): number | undefined {
	const usage = ctx?.getContextUsage?.();
	return usage ? usage.contextWindow - (usage.tokens ?? 0) : undefined;
}

/** What `promise` gives, unless the signal comes first: then the signal's reason is thrown. */
function unless<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
	if (!signal) return promise;
	return new Promise((resolve, reject) => {
		const stop = () => reject(signal.reason);
		if (signal.aborted) stop();
		signal.addEventListener("abort", stop, { once: true });
		promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
	});
}

/** One child process at a time, started by the first use and, when it ended, by the next. */
class Server {
	cwd = process.cwd();
	isReady = false;
	lost = ""; // why the last one ended, until another answers
	#child?: ChildProcess;
	#start?: Promise<void>;
	#pending = new Map<number, Pending>();
	#last = 0;

	/** The text that a tool answers; what the tool calls an error, and a lost server, are thrown. */
	async call(name: string, args: object, options: Options = {}): Promise<string> {
		await unless(options.signal, this.start());
		const result = await this.#request("tools/call", { name, arguments: args }, options);
		this.lost = "";
		const text = (result.content ?? []).map((part: any) => part.text ?? "").join("\n");
		if (result.isError) throw new Error(text);
		return text;
	}

	start(): Promise<void> {
		if (!this.#start) {
			const start = this.#spawn();
			this.#start = start;
			start.catch(() => {
				if (this.#start === start) this.#start = undefined; // the next use tries again
			});
		}
		return this.#start;
	}

	async #spawn(): Promise<void> {
		const [command, ...words] = program();
		const child = spawn(command, [...words, "serve", "--for", "pi"], {
			cwd: this.cwd,
			stdio: ["pipe", "pipe", "pipe"],
			windowsHide: true,
		});
		this.#child = child;
		let errors = "";
		child.stderr!.setEncoding("utf8").on("data", (data: string) => {
			errors = (errors + data).slice(-2000);
		});
		child.on("error", (error) => {
			const remedy = "install rag-agent, or name it in RAG_AGENT_PROGRAM";
			this.#lose(child, `${command} does not start (${error.message}); ${remedy}`);
		});
		child.on("close", (code, signal) => {
			const reason = errors.trim().split("\n").pop();
			this.#lose(child, `${command} ended (${signal ?? code})${reason ? `: ${reason}` : ""}`);
		});
		child.stdin!.on("error", () => {}); // a broken pipe; "close" tells it
		let rest = "";
		child.stdout!.setEncoding("utf8").on("data", (data: string) => {
			const lines = (rest + data).split("\n");
			rest = lines.pop()!;
			for (const line of lines) this.#receive(line);
		});
		try {
			await this.#request(
				"initialize",
				{ protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "pi", version: "1" } },
				{ signal: AbortSignal.timeout(START) },
			);
		} catch (error) {
			child.kill("SIGKILL"); // no use of it is left, and the next use is to find a new one
			this.#lose(child, `${command} did not answer within ${START / 1000} s`);
			throw error;
		}
		this.isReady = true;
		this.#send({ method: "notifications/initialized" });
		this.#send({ id: ++this.#last, method: "tools/list" }); // whereupon it loads the model
	}

	#request(method: string, params: object, { signal, onProgress, meta }: Options): Promise<any> {
		const id = ++this.#last;
		const answer = new Promise((resolve, reject) => {
			this.#pending.set(id, { resolve, reject, onProgress });
			const _meta = { ...meta, ...(onProgress && { progressToken: id }) };
			this.#send({ id, method, params: { ...params, _meta } });
		});
		return unless(signal, answer).catch((error) => {
			if (this.#pending.delete(id) && method !== "initialize") {
				const reason = String(error?.message);
				this.#send({ method: "notifications/cancelled", params: { requestId: id, reason } });
			}
			throw error;
		});
	}

	#send(message: object): void {
		this.#child?.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	#receive(line: string): void {
		let message: any;
		try {
			message = JSON.parse(line);
		} catch {
			return; // not ours; a server that says nothing else runs into the limits above
		}
		if (message.method === "notifications/progress") {
			this.#pending.get(message.params.progressToken)?.onProgress?.(message.params.message ?? "");
		} else if (message.method && message.id !== undefined) {
			const refusal = { error: { code: -32601, message: "not offered" } };
			this.#send({ id: message.id, ...(message.method === "ping" ? { result: {} } : refusal) });
		} else if (message.id !== undefined) {
			const pending = this.#pending.get(message.id);
			this.#pending.delete(message.id);
			if (message.error) pending?.reject(new Error(message.error.message));
			else pending?.resolve(message.result);
		}
	}

	#lose(child: ChildProcess | undefined, why: string): void {
		if (this.#child !== child) return;
		this.#child = undefined;
		this.#start = undefined;
		this.isReady = false;
		this.lost = why;
		const pending = [...this.#pending.values()];
		this.#pending.clear();
		for (const { reject } of pending) reject(new Error(why));
	}

	/** End the server; what it is doing goes on at its next start. Safe to call twice. */
	async stop(): Promise<void> {
		const child = this.#child;
		this.#lose(child, "the session has ended");
		this.lost = ""; // as was wanted
		if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
		const exit = new Promise((resolve) => child.once("exit", resolve));
		child.stdin!.end();
		for (const signal of ["SIGTERM", "SIGKILL"] as const) {
			const late = new Promise((resolve) => setTimeout(resolve, END, true).unref());
			if (!(await Promise.race([exit, late]).then((isLate) => isLate === true))) return;
			child.kill(signal);
		}
	}
}

// Set up for the user and for the project, Pi loads both copies: the second steps aside, for Pi does
// not start with two tools of one name.
const LOADED = Symbol.for("rag_agent.pi");

export default function (pi: ExtensionAPI) {
	const shared = globalThis as { [LOADED]?: boolean };
	if (shared[LOADED]) return;
	shared[LOADED] = true;
	const server = new Server();
	const nameless = randomUUID(); // for a session that has no name
	let complaint = "";

	/** Tell people: on the screen, or without one where the model's answer goes, and problems on stderr. */
	function tell(ctx: ExtensionContext, text: string, level: Level): void {
		if (ctx.hasUI) ctx.ui.notify(text, level);
		else if (level === "info" && !speaksJson(ctx)) print(text);
		else console.error(text);
	}

	/** The first line is the status, the others the widget; nothing clears both. */
	function show(ctx: ExtensionContext, message?: string): void {
		const [status, ...lines] = message?.split("\n") ?? [];
		ctx.ui.setStatus("rag", status);
		ctx.ui.setWidget("rag", lines.length ? lines : undefined);
	}

	/** A server that has just started answers turns from words alone; a search waits until it has its model. */
	async function warmUp(signal: AbortSignal): Promise<void> {
		await server.call("rag_query", { query: "warm-up", limit: 1 }, { signal }).catch((error) => {
			if (signal.aborted || !server.isReady) throw error; // else there is no index, as the turn will find
		});
	}

	/** Say what is wrong, but not again while it stays the same. */
	function complain(ctx: ExtensionContext, line: string): void {
		if (line && line !== complaint) tell(ctx, line, "warning");
		complaint = line;
	}

	/** What to inject after an event, mostly nothing. The turn waits no longer than its limit, whatever happens. */
	async function hook(ctx: ExtensionContext, event: object): Promise<string> {
		if (server.lost) complain(ctx, `rag: ${server.lost}`);
		const limit = ctx.hasUI ? TURN : TURN_IN_PRINT_MODE;
		const signal = AbortSignal.timeout(limit);
		const session_id = ctx.sessionManager?.getSessionId?.() || nameless;
		try {
			if (!ctx.hasUI && "prompt" in event) await warmUp(signal);
			const { context, note } = JSON.parse(
				await server.call(
					"rag_hook",
					{ ...event, session_id, cwd: ctx.cwd, context_left: contextLeft(ctx) },
					{ signal },
				),
			);
			complain(ctx, note ?? "");
			return context ?? "";
		} catch (error: any) {
			const late = `no answer within ${limit / 1000} s: this turn goes on without`;
			complain(ctx, `rag: ${signal.aborted ? late : error?.message}`);
			return "";
		}
	}

	pi.on("session_start", async (_event, ctx) => {
		server.cwd = ctx.cwd;
		server.start().catch(() => {}); // the first use says so
	});
	pi.on("session_shutdown", () => {
		delete shared[LOADED]; // a reload loads again
		return server.stop();
	});

	pi.on("before_agent_start", async (event, ctx) => {
		if (!("prompt" in event) || !event.prompt) return; // a run that an extension started
		const content = await hook(ctx, { hook_event_name: "UserPromptSubmit", prompt: event.prompt });
		if (content) return { message: { customType: "rag", content, display: false } };
	});
	// Both take messages out of what the model sees, so what was injected may be injected again.
	const forget = async (_event: unknown, ctx: ExtensionContext) => {
		await hook(ctx, { hook_event_name: "SessionStart", source: "compact" });
	};
	pi.on("session_compact", forget);
	pi.on("session_tree", forget);

	for (const tool of TOOLS) {
		pi.registerTool({
			...tool,
			parameters: tool.parameters as any,
			async execute(_id: string, args: any, signal: AbortSignal | undefined, onUpdate: any, ctx: ExtensionContext) {
				const onProgress = (text: string) => onUpdate?.({ content: [{ type: "text", text }], details: {} });
				const meta = { "rag-agent/contextLeft": contextLeft(ctx) };
				const text = await server.call(tool.name, args ?? {}, { signal, onProgress, meta });
				return { content: [{ type: "text" as const, text }], details: {} };
			},
		});
	}

	pi.registerCommand("rag", {
		description: "The project's index: /rag status, search, index … (/rag help)",
		async getArgumentCompletions(line: string) {
			try {
				const signal = AbortSignal.timeout(COMPLETION);
				const items = JSON.parse(await server.call("rag_complete", { line }, { signal }));
				return items.length ? items : null;
			} catch {
				return null; // a command that is not completed can be typed
			}
		},
		async handler(line: string, ctx: ExtensionContext) {
			try {
				const onProgress = (message: string) => show(ctx, message);
				const answer = JSON.parse(await server.call("rag_command", { line: line ?? "" }, { onProgress }));
				tell(ctx, answer.text, answer.level);
			} catch (error: any) {
				tell(ctx, `rag: ${error?.message}`, "error");
			} finally {
				show(ctx);
			}
		},
	});
}
