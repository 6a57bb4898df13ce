/** The user's own code beside the graphs: `auth`, `app`, `a2a`, `embeddings` and `evaluators`, filled by createWeir, each optional. */
import { logError } from "./lib/log.ts";
import { Problem } from "./lib/problem.ts";
import type { Env as HonoEnv, Hono } from "hono";
import type { AppUser } from "./http/principal.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig, Pregel } from "@langchain/langgraph";
import { settings } from "./config.ts";

// An export of one of the project's modules, loaded by the first call that needs it.

type Module = Record<string, unknown>;

/**
 * Loading inside a request allows the module what the platform forbids at startup: top-level await, timers, random values.
 * A module that throws fails the calls that need it, and no others.
 */
export class Lazy<T> {
  /** Of what this isolate has loaded. */
  static readonly specs = new Set<string>();
  readonly spec: string;
  readonly #load: () => Promise<Module>;
  /** Not its promise: what one request waits for, another must not. */
  #module: Module | undefined;
  #value: { value: T } | undefined;
  #failure: string | undefined;

  /** `spec` is `<file>:<export>` as langgraph.json has it; `load` imports the file. */
  constructor(spec: string, load: () => Promise<Module>) {
    this.spec = spec;
    this.#load = load;
  }

  /** The export. Throws a Problem with `status` that names the file when the module throws or has no such export. */
  async get(status: 500 | 503 = 500): Promise<T> {
    if (this.#failure !== undefined) throw new Problem(status, this.#failure);
    this.#value ??= { value: (await this.#loaded(status)) as T };
    Lazy.specs.add(this.spec);
    return this.#value.value;
  }

  /** Another export of the same module; undefined when it has none of this name, or cannot be loaded. */
  async sibling(name: string): Promise<unknown> {
    this.#module ??= await this.#load().catch((): Module => ({}));
    return this.#module[name];
  }

  async #loaded(status: 500 | 503): Promise<unknown> {
    const at = this.spec.lastIndexOf(":");
    const [file, name] = at < 0 ? [this.spec, "default"] : [this.spec.slice(0, at), this.spec.slice(at + 1)];
    let module: Module;
    try {
      module = this.#module = await this.#load();
    } catch (error) {
      logError(error, { while: `loading ${file}` });
      throw this.#failed(status, `${file} cannot be loaded. ${String(error)}`);
    }
    const exported = name in module ? module[name] : (module.default as Module | undefined)?.[name];
    if (exported !== undefined) return exported;
    const names = Object.keys(module).join(", ") || "nothing";
    throw this.#failed(status, `${file} has no export "${name}". It exports: ${names}.`);
  }

  /** A module is evaluated once, so its failure remains until the Worker is built again. */
  #failed(status: 500 | 503, detail: string): Problem {
    this.#failure = detail;
    return new Problem(status, detail);
  }
}

/** The value itself, or what the module exports. */
export const loaded = async <T>(value: T | Lazy<T>, status?: 500 | 503): Promise<T> =>
  value instanceof Lazy ? value.get(status) : value;

/** The input of a handler. `value` is the request's and may be changed in place. */
export interface AuthEvent {
  event: string;
  resource: string;
  action: string;
  value: Record<string, unknown>;
  permissions: string[];
  user: AppUser;
}

type Handler = (event: AuthEvent) => unknown;

/** An `Auth` of @langchain/langgraph-sdk/auth, as far as the server reads it. */
export interface UserAuth {
  "~handlerCache": {
    authenticate?: (request: Request) => unknown;
    callbacks?: Record<string, Handler | undefined>;
  };
}

/** Converts texts to vectors. Receives the Worker's variables and bindings. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/** An embeddings class of LangChain's, as far as the server uses it. */
export interface Embedder {
  embedDocuments(texts: string[]): Promise<number[][]>;
}

/** A traced run as an evaluator gets it: the members of the trace API's runs. Payloads above 1 MB are left out. */
export interface EvaluatedRun extends Record<string, unknown> {
  id: string;
  trace_id: string;
  name: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

/**
 * Scores a traced run for a rule: `{key, score, value?, comment?}`, a list of such objects, or an object whose members are keys with
 * their scores. docs/rules.md describes it.
 */
export type Evaluator = (run: EvaluatedRun, context: { env: Env }) => unknown;

export interface ProjectExports {
  auth?: UserAuth | Lazy<UserAuth>;
  app?: Hono<HonoEnv>;
  /** What the agent cards of graphs say, by graph id: the members of an assistant's `metadata.a2a`. */
  a2a?: Record<string, unknown>;
  embeddings?: Embeddings | Lazy<Embeddings | Embedder>;
  /** Evaluators of rules on traced runs, by the names that `code_evaluators` of a rule give. */
  evaluators?: Record<string, Evaluator | Lazy<Evaluator>>;
}

/** The application is mounted before the built-in routes, so its own come first. */
export const projectExports: ProjectExports = {};

/** The handlers of the deployment's own `Auth`. Throws a Problem with 503 when its module cannot be loaded: calls are refused. */
export const authHandlers = async () =>
  (projectExports.auth && (await loaded(projectExports.auth, 503)))?.["~handlerCache"];

// What a project may export as a graph.

/** A compiled graph with any state. */
// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
export type Graph = Pregel<any, any, any, any, any, any, any, any, any, any, any>;

/** Why the server calls a factory, as `ServerRuntime` of @langchain/langgraph-sdk has it. */
export type ServerRuntime =
  | { accessContext: "threads.create_run"; executionRuntime: { context: unknown } }
  | { accessContext: "assistants.read" | "threads.read" | "threads.update"; executionRuntime: null };
export type AuthAccess = ServerRuntime["accessContext"];

/**
 * A compiled graph, a `StateGraph` that is not compiled, or an agent of `createAgent` or `createDeepAgent`. The type is
 * structural: the classes of two versions of LangGraph are not assignable to each other.
 */
/* oxlint-disable typescript/no-explicit-any -- parameters of any graph of any version */
export type MadeGraph = { invoke(...args: any[]): any; stream(...args: any[]): any } | { compile(...args: any[]): any };
/* oxlint-enable typescript/no-explicit-any */

/**
 * Makes the graph. `config` has `configurable`, `context`, `metadata` and `tags`: the run's, to run it; those of the thread's
 * last run, to read or update a state; the assistant's, to describe the graph. `env` holds the Worker's variables, secrets
 * and bindings, and says which of these it is.
 */
export type GraphFactory = (
  config: LangGraphRunnableConfig | RunnableConfig,
  env: Env & ServerRuntime,
) => MadeGraph | Promise<MadeGraph>;

/** What a module may export as a graph. */
// oxlint-disable-next-line typescript/no-explicit-any -- a factory may declare its parameters as it likes
export type GraphEntry = MadeGraph | Promise<MadeGraph> | ((...args: any[]) => MadeGraph | Promise<MadeGraph>);

// The deployed graphs by id, filled by createWeir.

export const graphs: Record<string, GraphEntry | Lazy<GraphEntry>> = {};

/** A JSON Schema as data: nothing checks its keywords. */
export type JsonSchema = Record<string, unknown>;

/** The schemas of a graph that is typed only in TypeScript, read from its types when the project was built. */
export type TypedSchemas = Partial<Record<"input" | "output" | "state" | "config", JsonSchema>>;

/** What createWeir takes. Those of subgraphs are by namespace. */
export interface BuiltSchemas extends TypedSchemas {
  subgraphs?: Record<string, TypedSchemas>;
}

/** By graph id, filled by createWeir. */
export const builtSchemas: Record<string, BuiltSchemas> = {};

// The UI components of the deployment: bundles for browsers by name, filled by createWeir.

/** A bundle's files by name: `entrypoint.js`, and `entrypoint.css` where components have styles. */
export type UiFiles = Record<string, string>;

export const uis: Record<string, UiFiles | Lazy<UiFiles>> = {};

/** The files of this bundle; undefined when the deployment has no such bundle. */
export async function loadFiles(name: string): Promise<UiFiles | undefined> {
  const files = Object.hasOwn(uis, name) ? uis[name] : undefined;
  return files && loaded(files);
}

// What is left to do when createWeir is called again in an isolate, as `weir dev` does after an edit of the project's code.

/** What the last call deployed. */
interface Deployed {
  graphs: object;
  schemas: object;
  ui: object;
  app?: unknown;
  config: object;
  own: object;
}

let last: Deployed | undefined;

export function noteDeployed(deployed: Deployed): void {
  last = deployed;
}

/**
 * Removes what only an earlier call deployed, and loads the modules again that were loaded then. False when one of them cannot be
 * loaded: packages that stay loaded may refuse what they have already, so it is to be tried in an isolate of its own.
 */
export async function redeployed(): Promise<boolean> {
  if (!last) return false;
  remove(graphs, last.graphs);
  remove(builtSchemas, last.schemas);
  remove(uis, last.ui);
  remove(settings, last.config);
  remove(projectExports, last.own);
  const entries = [last.graphs, last.ui, last.own, { app: last.app }].flatMap((from): unknown[] => Object.values(from));
  const modules = entries.filter((entry) => entry instanceof Lazy).filter(({ spec }) => Lazy.specs.has(spec));
  const results = await Promise.allSettled(modules.map(async (module) => module.get()));
  return results.every(({ status }) => status === "fulfilled");
}

function remove(from: object, kept: object): void {
  for (const key of Object.keys(from)) if (!Object.hasOwn(kept, key)) Reflect.deleteProperty(from, key);
}
