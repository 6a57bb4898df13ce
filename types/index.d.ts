/** The types of the package `weir-server`, for projects whose worker is written by hand or was made by `weir eject`. */

/** What `invoke`s or `compile`s: graphs of any LangGraph version, and agents. */
// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
type Made = { invoke(...args: any[]): any; stream(...args: any[]): any } | { compile(...args: any[]): any };

/** A graph, an agent, a promise of one, or a function that makes one of a run's config. */
// oxlint-disable-next-line typescript/no-explicit-any -- the config of any graph
export type GraphEntry = Made | Promise<Made> | ((...args: any[]) => Made | Promise<Made>);

/** An export of a module that is loaded by the first call that needs it. */
export interface Lazy<T> {
  /** `<file>:<export>`. */
  readonly spec: string;
  get(): Promise<T>;
}

/** `lazy("./src/agent.ts:graph", () => import("./src/agent.ts"))`. A module that throws fails its own calls only. */
// oxlint-disable-next-line typescript/no-explicit-any -- the module's exports have any type
export declare function lazy<T = any>(spec: string, load: () => Promise<object>): Lazy<T>;

// oxlint-disable-next-line typescript/no-explicit-any -- the bindings of any project
export type Embeddings = (texts: string[], env: any) => Promise<number[][]>;

/** The embeddings of a provider's package: `embeddingsFrom("openai:text-embedding-3-small", () => import("@langchain/openai"))`. */
export declare function embeddingsFrom(model: string, load: () => Promise<object>): Embeddings;

/** The embeddings of a model of Workers AI, through the binding `AI`: `workersAiEmbeddings("@cf/baai/bge-m3")`. */
export declare function workersAiEmbeddings(model: string): Embeddings;

export interface WeirOptions {
  /** By graph id. */
  graphs: Record<string, GraphEntry | Lazy<GraphEntry>>;
  /** An `Auth` of `@langchain/langgraph-sdk/auth`. */
  auth?: object;
  /** A Hono application whose routes come before the built-in ones. */
  app?: object;
  /** Texts to vectors, for semantic search in the Store. `env` holds the Worker's variables and bindings. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the bindings of any project
  embeddings?: Embeddings | Lazy<any>;
  /** What the agent cards of graphs say, by graph id. */
  a2a?: Record<string, unknown>;
  /** Components of generative UI by graph id: imports of their files that end with `?ui=<graph id>`. */
  ui?: Record<string, Lazy<Record<string, string>>>;
  /** The keys of langgraph.json that the server honours while it runs: `http`, `store`, `checkpointer`, `flow`, `budgets`. */
  config?: object;
}

/** The Worker's handlers: its default export. */
export declare function createWeir(options: WeirOptions): {
  // oxlint-disable-next-line typescript/no-explicit-any -- the platform's types are the project's choice
  [handler in "fetch" | "queue" | "scheduled"]: (...args: any[]) => Promise<any>;
};

/** The Durable Objects, which the Worker exports under these names. */
// oxlint-disable-next-line typescript/no-explicit-any -- the platform's types are the project's choice
type DurableObjectClass = new (...args: any[]) => object;
export declare const Ledger: DurableObjectClass;
export declare const Limiter: DurableObjectClass;
export declare const Thread: DurableObjectClass;
export declare const ThreadIndex: DurableObjectClass;
export declare const TraceIndex: DurableObjectClass;
export declare const TracePartition: DurableObjectClass;
