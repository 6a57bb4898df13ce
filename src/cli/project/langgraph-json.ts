/** The schema of `langgraph.json`, the file that LangGraph users have. */
import { basename } from "node:path";
import * as v from "valibot";
import {
  CardSettings,
  describeIssue,
  GraphText,
  Http as Served,
  StoreTtl as ServedStoreTtl,
  ThreadTtl as ServedThreadTtl,
} from "../../config.ts";
import { Budgets } from "../../limits/budgets/rule.ts";
import { FlowRules } from "../../limits/flow/rule.ts";
import { CliFault } from "../console.ts";

const Count = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)));

/** `<file>:<export>`. Without an export it is the default one. */
const SpecText = v.pipe(v.string(), v.nonEmpty('expected "<file>:<export>"'));

const Graph = v.union(
  [SpecText, v.looseObject({ path: SpecText, ...GraphText.entries })],
  'expected "<file>:<export>" or {"path": …}',
);

const Http = v.looseObject({
  ...Served.entries,
  app: v.optional(SpecText),
});

const Index = v.looseObject({ embed: v.string(), dims: Count, fields: v.optional(v.array(v.string())) });

const StoreTtl = v.looseObject(ServedStoreTtl.entries);
const ThreadTtl = v.looseObject(ServedThreadTtl.entries);

const Auth = v.looseObject({ path: v.optional(SpecText) });
const Store = v.looseObject({ index: v.optional(Index), ttl: v.optional(StoreTtl) });
const UiConfig = v.looseObject({ shared: v.optional(v.array(v.string())) });
const Checkpointer = v.looseObject({ ttl: v.optional(ThreadTtl) });

export const LanggraphConfig = v.looseObject({
  graphs: v.pipe(
    v.record(v.string(), Graph),
    v.check((graphs) => Object.keys(graphs).length > 0, "name at least one graph"),
  ),
  env: v.optional(v.union([v.string(), v.array(v.string()), v.record(v.string(), v.unknown())])),
  auth: v.optional(Auth),
  http: v.optional(Http),
  store: v.optional(Store),
  checkpointer: v.optional(Checkpointer),
  ui: v.optional(
    v.record(
      v.pipe(v.string(), v.regex(/^[^/?#]{1,200}$/, "expected a graph's name")),
      v.pipe(v.string(), v.nonEmpty('expected "<file>"')),
    ),
  ),
  ui_config: v.optional(UiConfig),
  a2a: v.optional(v.record(v.string(), CardSettings)),
  flow: v.optional(FlowRules),
  budgets: v.optional(Budgets),
  evaluators: v.optional(
    v.record(
      v.pipe(v.string(), v.regex(/^[\w.-]{1,100}$/, "expected a name of letters, digits, _, . and -")),
      SpecText,
    ),
  ),
  dependencies: v.optional(v.array(v.string())),
});
export type LanggraphConfig = v.InferOutput<typeof LanggraphConfig>;

/**
 * Keys for tools that build images, or that only say which version of what is installed: accepted without a warning.
 */
export const SILENT = new Set([
  "$schema",
  "_INTERNAL_docker_tag",
  "api_version",
  "base_image",
  "building_docker",
  "docker_compose_file",
  "dockerfile_lines",
  "image_distro",
  "keep_pkg_tools",
  "node_version",
  "pip_config_file",
  "pip_installer",
  "python_version",
  "source",
]);

/** Keys of the Agent Server that have no effect here, and what they do there. */
export const WITHOUT_EFFECT: Record<string, string> = {
  "auth.disable_studio_auth": "lets LangGraph Studio in without a credential",
  "auth.openapi": "describes the credential in the OpenAPI document",
  "auth.cache": "caches the answers of the authenticate handler",
  "checkpointer.serde": "chooses how checkpoints are written",
  "http.disable_meta": "takes /ok and /info away",
  "http.disable_webhooks": "turns webhooks off",
  "http.enable_custom_route_auth": "puts routes of http.app behind auth, as Weir always does",
  "http.logging_headers": "chooses which headers are logged",
  "http.middleware_order": "chooses whether middleware of http.app runs before auth; here auth runs first",
  webhooks: "limits where webhooks may go",
  encryption: "encrypts what is stored with the project's own handlers",
};

/** Of a project's configuration, what the server honours while it runs: the option `config` of createWeir. */
export function toServerConfig({ graphs, http, store, checkpointer, flow, budgets }: LanggraphConfig): object {
  const fields = store?.index?.fields;
  const texts = Object.entries(graphs).flatMap(([id, graph]) => {
    const text = typeof graph === "string" ? {} : keepKnown(graph, GraphText.entries);
    return Object.keys(text).length > 0 ? [[id, text] as const] : [];
  });
  return {
    ...(texts.length > 0 && { graphs: Object.fromEntries(texts) }),
    ...(http && { http: keepKnown(http, Served.entries) }),
    ...((store?.ttl || fields) && {
      store: {
        ...(store?.ttl && { ttl: keepKnown(store.ttl, StoreTtl.entries) }),
        ...(fields && { index: { fields } }),
      },
    }),
    ...(checkpointer?.ttl && { checkpointer: { ttl: keepKnown(checkpointer.ttl, ThreadTtl.entries) } }),
    ...(flow && flow.length > 0 && { flow }),
    ...(budgets && budgets.length > 0 && { budgets }),
  };
}

/** The keys that the server accepts. `disable_*` keys with `false` are left out. */
const keepKnown = (value: object, entries: object): object =>
  Object.fromEntries(Object.entries(value).filter(([key, one]) => Object.hasOwn(entries, key) && !isOff(key, one)));

const isOff = (key: string, value: unknown): boolean => key.startsWith("disable_") && value === false;

const SCHEMAS: Record<string, { entries: Record<string, unknown> }> = {
  "": LanggraphConfig,
  "auth.": Auth,
  "http.": Http,
  "store.": Store,
  "store.index.": Index,
  "store.ttl.": StoreTtl,
  "ui_config.": UiConfig,
  "checkpointer.": Checkpointer,
  "checkpointer.ttl.": ThreadTtl,
};

/** A sentence for each key that has no effect. */
function findWarnings(value: Record<string, unknown>): string[] {
  return Object.entries(SCHEMAS).flatMap(([prefix, { entries }]) => {
    const path = prefix.split(".").filter(Boolean);
    const found = path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);
    return Object.keys(found ?? {})
      .filter((key) => !Object.hasOwn(entries, key) && !SILENT.has(prefix + key))
      .map((key) => {
        const does = WITHOUT_EFFECT[prefix + key];
        return does
          ? `langgraph.json: "${prefix}${key}" has no effect on Weir. On the Agent Server it ${does}.`
          : `langgraph.json: "${prefix}${key}" is not a known key. It has no effect.`;
      });
  });
}

/** Reads the file's text. Throws a Fault that names what is wrong; warns of keys without an effect. */
export function readLanggraphJson(text: string, file: string): { config: LanggraphConfig; warnings: string[] } {
  const name = basename(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliFault(`${file}: ${(error as Error).message}`);
  }
  const result = v.safeParse(LanggraphConfig, value);
  if (!result.success) throw new CliFault(`${name}: ${result.issues.map(describeIssue).join("; ")}.`);
  refusePython(result.output);
  return { config: result.output, warnings: findWarnings(value as Record<string, unknown>) };
}

/** What names the project's code: the key in langgraph.json, and `file:export`. */
export function namedCode({ graphs, auth, http, evaluators = {} }: LanggraphConfig): [key: string, spec: string][] {
  const named: [string, string | undefined][] = [
    ...Object.entries(graphs).map(([id, graph]): [string, string] => [
      `graphs.${id}`,
      typeof graph === "string" ? graph : graph.path,
    ]),
    ["auth.path", auth?.path],
    ["http.app", http?.app],
    ...Object.entries(evaluators).map(([name, spec]): [string, string] => [`evaluators.${name}`, spec]),
  ];
  return named.flatMap(([key, spec]) => (spec ? [[key, spec]] : []));
}

/** Throws a Fault where a graph, `auth`, `http.app` or an evaluator is Python. */
function refusePython(config: LanggraphConfig): void {
  for (const [key, spec] of namedCode(config))
    if (/\.py(:|$)/.test(spec))
      throw new CliFault(
        `langgraph.json: "${key}" is "${spec}", which is Python. Weir runs LangGraph.js only: a graph runs inside a Worker, ` +
          "and LangGraph for Python needs a process and native packages that a Worker does not have. Serve it with " +
          "`langgraph dev`, remove it here, and call it from a graph with RemoteGraph of @langchain/langgraph/remote.",
      );
}

export interface CodeSpec {
  file: string;
  name: string;
}

/** `<file>:<export>` as its two parts. A Windows path may hold one more colon. */
export function splitCodeSpec(spec: string): CodeSpec {
  const at = spec.lastIndexOf(":");
  return at < 2 ? { file: spec, name: "default" } : { file: spec.slice(0, at), name: spec.slice(at + 1) || "default" };
}
