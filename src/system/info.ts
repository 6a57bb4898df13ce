/** What this deployment is and can do: the parts of `GET /info` that never change while it runs. */
import { version as langgraphVersion } from "@langchain/langgraph/package.json";
import * as v from "valibot";
import { version } from "../../package.json";
import { settings } from "../config.ts";
import { AnyObject } from "../http/shapes.ts";

// The part of `/info` for the tracing SDKs: how to send runs to this server.

const INGEST_INFO = {
  git_sha: null,
  license_expiration_time: null,
  customer_info: null,
  batch_ingest_config: {
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    /** Operations and decoded bytes of one request. */
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: true,
    dataset_examples_multipart_enabled: true,
  },
} as const;

/** The version whose calls the SDKs may make. They warn of an older one. */
const INGEST_API_VERSION = "0.18.0";

export { version as VERSION };

/** Read by the LangGraph clients and Studio. */
const AGENT_SERVER = {
  langgraph_js_version: langgraphVersion,
  context: "js",
  flags: {
    stream_namespaces: true,
    assistants: true,
    crons: true,
    strict_resume: true,
    langsmith: true,
    langsmith_tracing_replicas: false,
  },
  host: { kind: "self-hosted", project_id: null, host_revision_id: null, revision_id: null, tenant_id: null },
  metadata: {},
};

export const Info = v.object({
  version: v.pipe(v.string(), v.description("Of LangSmith's API, for its SDKs.")),
  weir_version: v.string(),
  langgraph_js_version: v.string(),
  context: v.string(),
  flags: v.record(v.string(), v.union([v.boolean(), v.picklist(["semantic", "text"])])),
  host: AnyObject,
  metadata: AnyObject,
  git_sha: v.null(),
  license_expiration_time: v.null(),
  customer_info: v.null(),
  batch_ingest_config: v.record(v.string(), v.union([v.number(), v.boolean()])),
  instance_flags: v.record(v.string(), v.boolean()),
});

/**
 * `storeSearch`: how the Store matches a query, "semantic" or "text". `openaiKey`: whether OPENAI_API_KEY is set, without
 * which the demo graphs use their offline model.
 */
export function info(storeSearch: "semantic" | "text", openaiKey: boolean): v.InferOutput<typeof Info> {
  const { disable_a2a, disable_agui, disable_mcp } = settings.http;
  const protocols = { a2a: !disable_a2a, agui: !disable_agui, mcp: !disable_mcp };
  return {
    version: INGEST_API_VERSION,
    weir_version: version,
    ...AGENT_SERVER,
    flags: { ...AGENT_SERVER.flags, ...protocols, store_search: storeSearch, openai_key: openaiKey },
    ...INGEST_INFO,
  };
}
