/** What a deployment may set and may leave out: variables and secrets that wrangler.toml does not require. */
interface Env {
  /** "open": requests without a key act as the local workspace, on a loopback host only. */
  AUTH?: string;
  /** The part of requests that is logged, from 0 to 1. 0.05 if left out. Faults are always logged. */
  REQUEST_LOG_RATE?: string;
  /** Origins whose pages may call the API, separated by commas. Left out: any (`*`). */
  CORS_ORIGINS?: string;
  /** The OpenID provider by which members sign in: its issuer, and Weir's client id there. */
  OIDC_ISSUER?: string;
  OIDC_CLIENT_ID?: string;
  OIDC_CLIENT_SECRET?: string;
  /** JSON: `{"ann@example.com":{"workspace":"<id>","scopes":["read"]},"@example.com":{…}}`: who may allow applications without being a member. */
  OIDC_MEMBERS?: string;
  /** The workspace in which the users of the deployment's own `Auth` act; the local one if left out. */
  AUTH_WORKSPACE_ID?: string;
  /** JSON: `{"<graph id>":{"configurable":{…},"context":{…}}}`, the values of the graphs' default assistants. */
  LANGGRAPH_CONFIG?: string;
  OPENAI_API_KEY?: string;
  OPENAI_BASE_URL?: string;
  OPENAI_MODEL?: string;
  /** Milliseconds between the words of the built-in offline model. 5 if left out. */
  OFFLINE_MODEL_DELAY_MS?: string;
  /** JSON list of model prices (src/limits/prices/prices.ts), before the built-in ones. */
  TRACE_PRICES?: string;
  /** How long trace runs are kept, days: of `longlived` (default 400) and of `shortlived` projects (default 14). */
  TRACE_RETENTION_DAYS?: string;
  TRACE_RETENTION_DAYS_SHORT?: string;
  /** A day gets more shards when one is larger, bytes. 6 GB if left out. */
  TRACE_SHARD_BYTES?: string;
  /** Seconds a run may take, over all its attempts, before it is stopped with status "timeout". 3600 if left out. */
  RUN_TIMEOUT_SECONDS?: string;
  /** How often a run is started after process crashes without finishing a task in between. Default: 3. */
  RUN_MAX_ATTEMPTS?: string;
  /**
   * "true": webhooks, push notifications and export destinations may use http and private addresses. For local
   * development.
   */
  ALLOW_PRIVATE_ADDRESSES?: string;
  /** The tracing project that the runs of this deployment's graphs go to; "default" if left out, "" for no traces. */
  TRACE_PROJECT?: string;
  /** Earlier values of ENCRYPTION_KEY, separated by commas: what they encrypted stays readable after a rotation. */
  ENCRYPTION_KEYS_OLD?: string;
  /** Experiments in one `all_experiments` export: a number, or "unlimited". 250 if left out. */
  EXPORT_MAX_EXPERIMENTS?: string;
  /** The name of the bucket bound as EXPORTS_BUCKET, where it is not "weir-exports". */
  EXPORTS_BUCKET_NAME?: string;
  /** Workers AI, for `store.index.embed` of `workers-ai:@cf/…`. */
  AI?: { run(model: string, inputs: Record<string, unknown>): Promise<unknown> };
  /** A Vectorize index for the Store's search by meaning; without it, up to 20,000 vectors in D1 are compared. */
  STORE_INDEX?: Vectorize;
  /** Where new Durable Objects are placed: a location hint such as "weur". Left out: near their first caller. */
  OBJECT_LOCATION?: DurableObjectLocationHint;
  /** Keeps all Durable Objects within a jurisdiction, "eu" or "fedramp". Set it before the first deploy. */
  OBJECT_JURISDICTION?: DurableObjectJurisdiction;
  /**
   * The deployment's addresses as its callers have them, separated by commas, the main one first: `https://agents.example`.
   * OAuth on a public name other than one of workers.dev needs it.
   */
  PUBLIC_URL?: string;
  /** Signs agent cards: a private key as a JWK (EC P-256, Ed25519 or RSA), best with a `kid`. */
  A2A_SIGNING_KEY?: string;
}
