// rag_agent in opencode: hands prompts, /rag lines and compactions to `rag-agent hook opencode`
// and puts what it answers where it belongs. Whatever is to be decided is decided there.

import { spawn } from "node:child_process"

const PROGRAM = ["rag-agent"]
const TURN_MS = 5_000 // the program has a budget of its own, well below; this is for one that hangs
const COMMAND_MS = 60_000 // it leaves work that takes longer than 20 s to the background
const NAME = "rag-agent"

export const RagAgent = async ({ client, directory }) => {
  const told = new Set()
  const windows = new Map() // by session, the tokens that its model's context window has
  const used = new Map() // … and how many of them were used when the model last answered
  let forgotten = Promise.resolve() // what was compacted away; opencode does not wait for `event`

  // One line for the user, once a session of the program: a toast, in `opencode run` on stderr.
  const tell = async (message) => {
    if (!message || told.has(message)) return
    told.add(message)
    if (isRun()) process.stderr.write(`${message}\n`)
    else await client.tui.showToast({ body: { title: NAME, message, variant: "warning" } })
  }

  const ask = async (event, milliseconds) => {
    try {
      return await answer({ cwd: directory, ...event }, directory, milliseconds)
    } catch (error) {
      return { context: "", note: `${NAME}: ${error.message}` }
    }
  }

  const remember = ({ role, sessionID, tokens }) => {
    const { input = 0, output = 0, cache } = tokens ?? {}
    const sum = input + output + (cache?.read ?? 0) + (cache?.write ?? 0)
    if (role === "assistant" && sum) used.set(sessionID, sum)
  }

  const contextLeft = (sessionID) =>
    windows.has(sessionID) ? windows.get(sessionID) - (used.get(sessionID) ?? 0) : undefined

  return {
    "chat.message": quietly(client, async (input, output) => {
      const prompt = output.parts
        .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
        .map((part) => part.text)
        .join("\n")
      if (!prompt.trim()) return
      await forgotten
      const { id, sessionID } = output.message
      const { context, note } = await ask(
        {
          hook_event_name: "UserPromptSubmit",
          prompt,
          session_id: sessionID,
          prompt_id: id,
          context_left: contextLeft(sessionID),
        },
        TURN_MS,
      )
      if (context) output.parts.push(hidden(context, sessionID, id))
      await tell(note)
    }),

    "command.execute.before": async (input, output) => {
      if (input.command !== "rag") return
      const { context, note } = await ask(
        {
          hook_event_name: "UserPromptExpansion",
          command_name: input.command,
          command_args: input.arguments,
          session_id: input.sessionID,
        },
        COMMAND_MS,
      )
      const text = context || note || `${NAME}: no answer`
      if (isRun()) {
        // `opencode run` shows what the model says, and nothing else.
        const request = `Show this output of rag-agent to the user as it is, and say no more:\n\n${text}`
        output.parts.splice(0, output.parts.length, { type: "text", text: request, synthetic: true })
        return
      }
      // A message that people see and models do not. opencode knows no other way to end a command
      // than an error, which its screen does not show.
      await client.session.prompt({
        path: { id: input.sessionID },
        body: { noReply: true, parts: [{ type: "text", text, ignored: true }] },
      })
      throw new Error(`${NAME} has answered /rag ${input.arguments}`)
    },

    // Known from a session's second turn on; until then rag-agent's own limit holds.
    "chat.params": quietly(client, async ({ sessionID, model }) => {
      if (model?.limit?.context) windows.set(sessionID, model.limit.context)
    }),

    event: quietly(client, async ({ event }) => {
      if (event.type === "message.updated") remember(event.properties.info)
      if (event.type !== "session.compacted") return
      const session_id = event.properties.sessionID
      used.delete(session_id)
      const compacted = { hook_event_name: "SessionStart", source: "compact", session_id }
      forgotten = Promise.all([forgotten, ask(compacted, TURN_MS)])
      await forgotten
    }),
  }
}

// A turn goes on whatever happens here; what did is in opencode's log.
function quietly(client, handler) {
  return async (...values) => {
    try {
      await handler(...values)
    } catch (error) {
      const entry = { service: NAME, level: "error", message: String(error) }
      await client.app.log({ body: entry }).catch(() => {})
    }
  }
}

function isRun() {
  return process.argv[2] === "run"
}

// Parts are kept in the order of their ids; this one comes after opencode's own.
function hidden(text, sessionID, messageID) {
  const id = `prt_zzrag${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
  return { id, sessionID, messageID, type: "text", synthetic: true, text }
}

// What the program answers to an event: {context, note}. Rejects with a line for the user.
function answer(event, cwd, milliseconds) {
  return new Promise((resolve, reject) => {
    const [program, ...words] = PROGRAM
    const child = spawn(program, [...words, "hook", "opencode"], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
    })
    const timer = setTimeout(() => {
      child.kill()
      reject(new Error(`no answer within ${milliseconds / 1000} s`))
    }, milliseconds)
    const printed = []
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`${program} does not start (${error.code ?? error.message})`))
    })
    child.on("close", () => {
      clearTimeout(timer)
      try {
        const { context = "", note = "" } = JSON.parse(Buffer.concat(printed).toString("utf8"))
        resolve({ context, note })
      } catch {
        reject(new Error("the hook printed no answer; `rag-agent doctor` finds out why"))
      }
    })
    child.stdout.on("data", (piece) => printed.push(piece))
    child.stdin.on("error", () => {}) // it may end before it has read all
    child.stdin.end(JSON.stringify(event))
  })
}
