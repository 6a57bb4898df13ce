/** The configuration of an assistant as the form holds it, and the body that the API takes. */
import type { AssistantSchemas } from "../../api/types.ts";
import { type Field, fieldOfSchema, fieldOfValue, fromText, toText } from "../../ui/fields.ts";

type Members = Record<string, unknown>;

/** The run configuration without what repeats the context: the server shows each value of one in the other. */
export function ownConfig({ configurable, ...config }: Members, context: Members | null | undefined): Members {
  const own = Object.entries((configurable ?? {}) as Members).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(context?.[name]),
  );
  return own.length > 0 ? { ...config, configurable: Object.fromEntries(own) } : config;
}

interface Configured {
  name: string;
  description?: string | null;
  config: Record<string, unknown>;
  context?: Record<string, unknown> | null;
  metadata?: Record<string, unknown> | null;
}

export interface Draft {
  name: string;
  description: string;
  /** The text of each field of the context. */
  texts: Record<string, string>;
  /** As JSON. */
  config: string;
  metadata: string;
}

/** Longer texts get a field of several lines. */
const LONG = 60;

/** The fields of the context: those that the graph declares, and those that are set beside them. */
export function listFields(schemas: AssistantSchemas | undefined, context: Record<string, unknown>): Field[] {
  const declared = (schemas?.context_schema ?? schemas?.config_schema)?.properties ?? {};
  const fields = Object.entries(declared).map(([name, property]) => {
    const field = fieldOfSchema(name, property);
    const value = context[name];
    const isLong = typeof value === "string" && (value.length > LONG || value.includes("\n"));
    return field.kind === "text" && isLong ? { ...field, kind: "long" as const } : field;
  });
  const others = Object.entries(context).filter(([name]) => !(name in declared));
  return [...fields, ...others.map(([name, value]) => fieldOfValue(name, value))];
}

export function toDraft({ name, description, config, context, metadata }: Configured, fields: Field[]): Draft {
  return {
    name,
    description: description ?? "",
    texts: Object.fromEntries(fields.map((field) => [field.name, toText(context?.[field.name], field.kind)])),
    config: JSON.stringify(ownConfig(config, context), null, 2),
    metadata: JSON.stringify(metadata ?? {}, null, 2),
  };
}

/**
 * What the API takes of a draft. A field without a text is not set. Throws an `Error` whose message names the
 * wrong field.
 */
export function toBody(draft: Draft, fields: Field[]): Record<string, unknown> {
  const context: Record<string, unknown> = {};
  for (const { name, label, kind } of fields) {
    const text = draft.texts[name] ?? "";
    if (text === "") continue;
    const { value, error } = fromText(text, kind);
    if (error !== undefined) throw new Error(`${label}: ${error}`);
    context[name] = value;
  }
  return {
    name: draft.name.trim(),
    description: draft.description.trim() === "" ? null : draft.description.trim(),
    context,
    config: parseObject(draft.config, "Run configuration"),
    metadata: parseObject(draft.metadata, "Metadata"),
  };
}

function parseObject(text: string, label: string): Record<string, unknown> {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${label} is no JSON: ${error instanceof Error ? error.message : ""}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${label} must be a JSON object.`);
  return value as Record<string, unknown>;
}
