/** LangGraph's `debug` chunks as the Agent Server puts them on the wire: no callbacks, no internal keys, checkpoints by address. */
import type { Json } from "../lib/json.ts";
import { toWireJson } from "./wire.ts";

/** A `debug` chunk in wire form, as JSON. */
export function wireDebug(chunk: unknown): string {
  const { type, payload, ...rest } = chunk as Json & { type: string; payload: Json };
  if (type === "checkpoint") return toWireJson({ ...rest, type, payload: checkpoint(payload) });
  return toWireJson({ ...rest, type, payload: task(payload) });
}

function checkpoint({ parentConfig, config, tasks, ...rest }: Json): Json {
  return {
    ...rest,
    config: toExternal(config),
    parent_config: toExternal(parentConfig),
    checkpoint: readAddress(config),
    parent_checkpoint: readAddress(parentConfig),
    tasks: (tasks as Json[]).map(task),
  };
}

function task({ state, ...rest }: Json): Json {
  const at = readAddress(state);
  return at ? { ...rest, checkpoint: at } : state === undefined ? rest : { ...rest, state };
}

function toExternal(config: unknown): unknown {
  const configurable = (config as { configurable?: Json } | undefined)?.configurable;
  if (!configurable) return config;
  const { callbacks: _callbacks, ...rest } = config as Json;
  return {
    ...rest,
    configurable: Object.fromEntries(Object.entries(configurable).filter(([key]) => !internal(key))),
  };
}

/** A nested graph's config inherits the key of the task around it. */
const internal = (key: string): boolean => key.startsWith("__") || key === "idempotency_key";

/** The checkpoint a RunnableConfig names, or null. */
export function readAddress(config: unknown): Json | null {
  const configurable = (config as { configurable?: Json } | undefined)?.configurable;
  if (!configurable?.thread_id) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = configurable;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}
