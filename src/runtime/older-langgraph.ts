/**
 * What LangGraph before 0.4 emits in another way. The project brings its own copy of LangGraph, from 0.2.57 on.
 *
 * Before 0.3.6 there is no `tasks` mode: its chunks are in the `debug` mode. There is no `values` chunk for a pause, and
 * an interrupt has no id. From 0.3.6 to 0.4 the id is called `interrupt_id`.
 */
import type { Json } from "../lib/json.ts";
import { version } from "@langchain/langgraph/package.json";
import { uuid5 } from "@langchain/langgraph-checkpoint";

type Chunk = (namespace: string[], mode: string, payload: unknown) => void;

const NAMESPACE = "0b9ad4bb-36d4-5f7e-8e86-5d8b1f0a6f3c";

/** Whether this copy of LangGraph has the `tasks` mode, and takes answers by the ids of interrupts. */
export const hasTasksMode: boolean = since(0, 3, 6);

function since(...wanted: number[]): boolean {
  const given = version.split(/[.-]/).map(Number);
  const at = wanted.findIndex((part, i) => part !== given[i]);
  return at === -1 || (given[at] ?? 0) > (wanted[at] ?? 0);
}

/** The interrupt with an `id`. Before 0.3.6 it is derived from the interrupt's place, which is the same at every reading. */
export function withId(interrupt: unknown): unknown {
  if (typeof interrupt !== "object" || interrupt === null || "id" in interrupt) return interrupt;
  const { interrupt_id: known, ns, value, ...rest } = interrupt as Json;
  const id = known ?? (Array.isArray(ns) ? uuid5(ns.join("|"), NAMESPACE).replaceAll("-", "") : undefined);
  return id === undefined ? interrupt : { id, value, ...rest, ns };
}

/** What LangGraph emits, to `chunk`, as the newest version emits it. `debug`: whether debug chunks are wanted. */
export function asNewest(chunk: Chunk, debug: boolean): Chunk {
  return (given, mode, payload) => {
    // LangGraph before 1.1 names the root graph `[""]`, later versions name it `[]`.
    const namespace = given.filter((part) => part !== "");
    if (mode === "debug" && !hasTasksMode) {
      const { type, payload: task } = payload as { type: string; payload: Json };
      if (type !== "checkpoint") chunk(namespace, "tasks", withIds(task));
      if (debug) chunk(namespace, mode, payload);
      return;
    }
    const known = mode === "updates" || mode === "tasks" || mode === "values" ? withIds(payload) : payload;
    chunk(namespace, mode, known);
    if (mode === "updates" && !hasTasksMode && namespace.length === 0 && isObject(known) && "__interrupt__" in known)
      chunk(namespace, "values", { __interrupt__: known["__interrupt__"] ?? [] });
  };
}

/** The payload of a chunk, its interrupts with ids. */
function withIds(payload: unknown): unknown {
  if (!isObject(payload)) return payload;
  const name = ["__interrupt__", "interrupts"].find((one) => Array.isArray(payload[one]) && payload[one].length > 0);
  return name === undefined ? payload : { ...payload, [name]: (payload[name] as unknown[]).map(withId) };
}

/** LangGraph's rule to distinguish a map of answers by interrupt id from an answer that is an object. */
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/**
 * The answer as this copy of LangGraph takes it. One before 0.3.6 takes no answers by the ids of interrupts, only one
 * answer. Throws where there are several.
 */
export function toResumeValue(resume: unknown): unknown {
  if (hasTasksMode || !isObject(resume)) return resume;
  const answers = Object.entries(resume);
  if (answers.length === 0 || !answers.every(([id]) => INTERRUPT_ID.test(id))) return resume;
  if (answers.length === 1) return answers[0]?.[1];
  throw new Error(`LangGraph ${version} takes one answer at a time. Several need 0.3.6 or newer.`);
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
