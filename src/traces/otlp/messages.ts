/** Inputs and outputs of a span: the conventions of several instrumentations, the first that is there counts. */
import { isObject, parseJson } from "../../http/json.ts";
import type { Attributes, OtlpSpan } from "./span.ts";

type Reading = (span: OtlpSpan) => object | undefined;

const INPUTS: Reading[] = [
  whole("gen_ai.prompt", "input"),
  indexed("gen_ai.prompt", "messages"),
  messages("gen_ai.input.messages"),
  indexed("llm.input_messages", "messages"),
  messages("llm.input_messages"),
  whole("gen_ai.tool.call.arguments", "input"),
  whole("input.value", "input"),
  whole("traceloop.entity.input", "input"),
  whole("prompt", "input"),
  whole("tool_arguments", "input"),
  eventValue("gen_ai.content.prompt", "gen_ai.prompt", "input"),
  eventMessages(["gen_ai.system.message", "gen_ai.user.message"], "messages"),
];

const OUTPUTS: Reading[] = [
  whole("gen_ai.completion", "output"),
  indexed("gen_ai.completion", "messages"),
  messages("gen_ai.output.messages"),
  indexed("llm.output_messages", "messages"),
  messages("llm.output_messages"),
  documents,
  whole("gen_ai.tool.call.result", "output"),
  whole("output.value", "output"),
  whole("traceloop.entity.output", "output"),
  whole("all_messages_events", "messages"),
  whole("tool_response", "output"),
  eventValue("gen_ai.content.completion", "gen_ai.completion", "output"),
  eventMessages(["gen_ai.choice", "gen_ai.assistant.message", "gen_ai.tool.message"], "messages"),
];

/** What went into the span; undefined when no convention that is known says so. */
export function inputsOf(span: OtlpSpan): object | undefined {
  return first(INPUTS, span);
}

/** What came out of the span, likewise. */
export function outputsOf(span: OtlpSpan): object | undefined {
  return first(OUTPUTS, span);
}

/** Events that became inputs or outputs. */
export const CONTENT_EVENT = /^(gen_ai\.|exception$)/;

function first(readings: Reading[], span: OtlpSpan): object | undefined {
  for (const reading of readings) {
    const value = reading(span);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** One attribute, JSON or plain text. */
function whole(name: string, key: string): Reading {
  return ({ attributes }) => asObject(attributes[name], key);
}

function messages(name: string): Reading {
  return ({ attributes }) => {
    const value = parsed(attributes[name]);
    return value === undefined || value === null ? undefined : { messages: value };
  };
}

/** `prefix.0.role`, `prefix.0.message.content`, … as a list of objects. */
function indexed(prefix: string, key: string): Reading {
  return ({ attributes }) => {
    const items = unflatten(attributes, prefix).map((item) => {
      const { message, ...rest } = item;
      return isObject(message) ? { ...rest, ...message } : item;
    });
    return items.length > 0 ? { [key]: items } : undefined;
  };
}

function documents({ attributes }: OtlpSpan): object | undefined {
  const items = unflatten(attributes, "retrieval.documents").map(({ document }) => {
    const { content, metadata, ...rest } = isObject(document) ? document : {};
    return { page_content: content ?? "", metadata: parsed(metadata) ?? {}, type: "Document", ...rest };
  });
  return items.length > 0 ? { documents: items } : undefined;
}

function eventValue(event: string, name: string, key: string): Reading {
  return ({ events }) => asObject(events.find((one) => one.name === event)?.attributes[name], key);
}

function eventMessages(names: string[], key: string): Reading {
  return ({ events }) => {
    const found = events.filter(({ name }) => names.includes(name));
    if (found.length === 0) return undefined;
    const items = found.map(({ name, attributes }) => {
      const { message, ...rest } = nested(attributes);
      const role = /^gen_ai\.(\w+)\.message$/.exec(name)?.[1] ?? "assistant";
      return { role, ...rest, ...(isObject(message) ? message : {}) };
    });
    return { [key]: items };
  };
}

/** A list of objects from attributes such as `prefix.3.a.b`. */
function unflatten(attributes: Attributes, prefix: string): Record<string, unknown>[] {
  const own = Object.entries(attributes).filter(
    ([name]) => name.startsWith(`${prefix}.`) && /^\d{1,5}\./.test(name.slice(prefix.length + 1)),
  );
  const groups = Map.groupBy(own, ([name]) => Number(name.slice(prefix.length + 1).split(".")[0]));
  return [...groups.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, entries]) =>
      nested(
        Object.fromEntries(
          entries.map(([name, value]) => [name.slice(prefix.length + String(index).length + 2), value]),
        ),
      ),
    );
}

/** `{"a.b": 1, "c.0.d": 2}` as `{a: {b: 1}, c: [{d: 2}]}`. */
function nested(flat: Attributes): Record<string, unknown> {
  const root = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(flat)) {
    const path = name.split(".").slice(0, 20);
    let at = root;
    for (const step of path.slice(0, -1)) {
      if (!isObject(at[step])) at[step] = Object.create(null) as Record<string, unknown>;
      at = at[step] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ""] = value;
  }
  return lists(root) as Record<string, unknown>;
}

function lists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, lists(item)] as const);
  const isList = entries.length > 0 && entries.every(([key]) => /^\d{1,5}$/.test(key));
  return isList
    ? entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, item]) => item)
    : Object.fromEntries(entries);
}

/** JSON texts as what they say, other values as they are. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{"]/.test(value)) return value;
  const json = parseJson(value);
  return json === undefined ? value : json;
}

function asObject(given: unknown, key: string): object | undefined {
  const value = parsed(given);
  if (value === undefined || value === null) return undefined;
  return isObject(value) ? value : { [key]: value };
}
