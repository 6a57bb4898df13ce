/** `npm run configuration`: writes docs/configuration.md from the schema of langgraph.json and the rules of wrangler.jsonc. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type * as v from "valibot";
import { LanggraphConfig, SILENT, WITHOUT_EFFECT } from "../src/cli/project/langgraph-json.ts";
import { OURS, RESOURCE, readWranglerFile } from "../src/cli/project/wrangler-config.ts";
import { ABOUT } from "./configuration-text.ts";

const ROOT = join(import.meta.dirname, "..");
export const PAGE = join(ROOT, "docs", "configuration.md");

/** The parts of a valibot schema that the page shows. */
type Schema = v.GenericSchema & {
  entries?: Record<string, Schema>;
  wrapped?: Schema;
  pipe?: Schema[];
  options?: (Schema | string)[];
  value?: Schema;
  item?: Schema;
  default?: unknown;
};

/** A schema without what makes it optional or checks it further. */
function unwrap(schema: Schema): Schema {
  if (schema.wrapped) return unwrap(schema.wrapped);
  const [first] = schema.pipe ?? [];
  return first && first !== schema ? unwrap(first) : schema;
}

/** The type in the words of JSON. */
function describeType(given: Schema): string {
  const schema = unwrap(given);
  switch (schema.type) {
    case "union":
      return (schema.options as Schema[]).map(describeType).join(" or ");
    case "picklist":
      return (schema.options as string[]).map((one) => `\`"${one}"\``).join(" or ");
    case "array":
      return schema.item ? `list of ${describeType(schema.item)}` : "list";
    case "record":
      return schema.value ? `object of ${describeType(schema.value)}` : "object";
    case "loose_object":
    case "strict_object":
      return "object";
    case "unknown":
      return "any";
    default:
      return schema.type;
  }
}

const LIMITLESS = new Set(["graphs"]);

/** Each key with its path, those of objects before their members. */
function listRows(schema: Schema, prefix = ""): { path: string; type: string; fallback: unknown }[] {
  return Object.entries(unwrap(schema).entries ?? {}).flatMap(([key, member]) => {
    const path = `${prefix}${key}`;
    const row = { path, type: describeType(member), fallback: member.default };
    const inner = LIMITLESS.has(path) ? [] : listRows(member, `${path}.`);
    return inner.length > 0 ? inner : [row];
  });
}

function langgraphTable(): string {
  const rows = listRows(LanggraphConfig as unknown as Schema);
  const missing = rows.filter(({ path }) => !ABOUT[path]).map(({ path }) => path);
  const gone = Object.keys(ABOUT).filter((path) => !rows.some((row) => row.path === path));
  if (missing.length > 0) throw new Error(`scripts/configuration-text.ts says nothing about ${missing.join(", ")}.`);
  if (gone.length > 0)
    throw new Error(`scripts/configuration-text.ts describes ${gone.join(", ")}, which the schema lacks.`);
  const lines = rows.map(({ path, type, fallback }) => {
    const value = fallback === undefined || typeof fallback === "object" ? "" : `\`${JSON.stringify(fallback)}\``;
    return `| \`${path}\` | ${type} | ${value} | ${ABOUT[path]} |`;
  });
  return ["| Key | Type | Default | What it does |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

interface Base {
  d1_databases: { binding: string }[];
  r2_buckets: { binding: string }[];
  queues: { producers: { binding: string }[] };
  ratelimits: { name: string }[];
  durable_objects: { bindings: { name: string }[] };
  exports: Record<string, unknown>;
  triggers: { crons: string[] };
}

/** The page's text. Throws when a key of the schema has no sentence, or a sentence no key. */
export function configurationPage(): string {
  const base = readWranglerFile(join(ROOT, "wrangler.toml")) as unknown as Base;
  const bindings = [
    ...base.d1_databases.map(({ binding }) => binding),
    ...base.r2_buckets.map(({ binding }) => binding),
    ...base.queues.producers.map(({ binding }) => binding),
    ...base.ratelimits.map(({ name }) => name),
    ...base.durable_objects.bindings.map(({ name }) => name),
  ];
  const code = (names: Iterable<string>) => [...names].map((name) => `\`${name}\``).join(", ");
  const values: Record<string, string> = {
    keys: langgraphTable(),
    silent: code([...SILENT].sort()),
    without: Object.entries(WITHOUT_EFFECT)
      .map(([key, does]) => `| \`${key}\` | ${does} |`)
      .join("\n"),
    ours: code(OURS),
    bindings: code(bindings),
    classes: code(Object.keys(base.exports)),
    resource: code(RESOURCE),
    crons: code(base.triggers.crons),
  };
  const template = readFileSync(join(import.meta.dirname, "configuration.template.md"), "utf8");
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The template uses ${name}, which does not exist.`);
    return value;
  });
}

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, configurationPage());
