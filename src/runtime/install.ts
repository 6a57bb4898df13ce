/**
 * LangGraph's build for workerd leaves out AsyncLocalStorage, and without it `interrupt()` and the config of nested
 * graphs do not work. Import this file for its effect before any graph is built.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

// The logger that `getLogger()` of @langchain/langgraph-sdk/logging finds: a line of JSON for each call.

const LEVELS = ["error", "warn", "info", "http", "verbose", "debug", "silly"] as const;
type Level = (typeof LEVELS)[number];
type Meta = Record<string, unknown>;
type Log = (message: unknown, meta?: Meta) => void;

interface Logger extends Record<Level, Log> {
  log(level: Level, message: unknown, meta?: Meta): void;
  child(meta: Meta): Logger;
}

/** The metadata of a run that identify the source of a line. */
const SHOWN = ["run_id", "thread_id", "assistant_id", "graph_id", "langgraph_node"];

function write(level: Level, message: unknown, meta: Meta): void {
  const { metadata = {} } = AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {};
  const place = Object.fromEntries(
    SHOWN.flatMap((name) => (name in metadata ? [[name, metadata[name] as unknown]] : [])),
  );
  const text = message instanceof Error ? (message.stack ?? message.message) : message;
  const line = JSON.stringify({ level, ...place, ...meta, message: text });
  if (level === "error") console.error(line);
  else if (level === "warn") console.warn(line);
  else console.log(line);
}

function loggerWith(meta: Meta): Logger {
  const at =
    (level: Level): Log =>
    (message, more) =>
      write(level, message, { ...meta, ...more });
  const methods = Object.fromEntries(LEVELS.map((level) => [level, at(level)])) as Record<Level, Log>;
  return {
    ...methods,
    log: (level, message, more) => at(level)(message, more),
    child: (more) => loggerWith({ ...meta, ...more }),
  };
}

/** Modules of a project may call `getLogger()` when they load, so this comes before them. */
export function installLogger(): void {
  Object.assign(globalThis, { [Symbol.for("langgraph.api.sdk-logger")]: loggerWith({}) });
}
