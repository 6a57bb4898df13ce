/** Traces over OTLP/HTTP, in protobuf and JSON. */
import { type Context, Hono } from "hono";
import { createDoc } from "../../../http/route.ts";
import { refuseManyValues, isObject, parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { readWholeBody, withReservation } from "../body.ts";
import type { OperationGatherer } from "../operations.ts";
import { Intake } from "../intake.ts";
import {
  spansFromJson,
  responseToProtobuf,
  spansFromProtobuf,
  MAX_SPANS,
  type OtlpSpan,
  tooManySpans,
} from "./decode.ts";
import { parseValue } from "./metadata.ts";
import { readRunId, toRun } from "./run.ts";

/** The most decoded bytes of a request. Its spans are objects in memory and take about three times their bytes. */
const OTLP_BYTES = 16 * 1024 * 1024;
const OBJECTS = 3;
/** The most values of a JSON body. An attribute of a span has five. */
const MAX_VALUES = 600_000;

export const otlp = new Hono<App>().post(
  "/otel/v1/traces",
  createDoc("Traces")("Take spans over OTLP/HTTP (protobuf or JSON)"),
  async (c) => {
    const isJson = /^application\/json\b/i.test(c.req.header("content-type") ?? "");
    const result = await withReservation(c, async (reservation) => {
      const bytes = await readWholeBody(c.req.raw, reservation, OTLP_BYTES);
      await reservation.hold(OBJECTS * bytes.byteLength);
      const spans = isJson ? spansFromJson(parseBody(bytes)) : readSpans(c, bytes);
      if (spans.length > MAX_SPANS) throw tooManySpans();
      const intake = await Intake.begin(c);
      gather(intake.gathering, spans, c.req.header("langsmith-project"));
      return intake.finish();
    });
    const message = result.errors
      .map((fault) => fault.message)
      .join("; ")
      .slice(0, 1_000);
    if (!isJson) {
      const body = responseToProtobuf(result.rejected, message) as Uint8Array<ArrayBuffer>;
      return c.body(body, 200, { "content-type": "application/x-protobuf" });
    }
    const partial = result.rejected > 0 ? { rejectedSpans: String(result.rejected), errorMessage: message } : {};
    return c.json({ partialSuccess: partial });
  },
);

function parseBody(bytes: Uint8Array): unknown {
  refuseManyValues(bytes, MAX_VALUES);
  return parseJson(new TextDecoder().decode(bytes));
}

function readSpans(c: Context<App>, bytes: Uint8Array): OtlpSpan[] {
  if (/^application\/(x-)?protobuf\b/i.test(c.req.header("content-type") ?? "")) return spansFromProtobuf(bytes);
  throw new Problem(415, "Send spans as application/x-protobuf or application/json.");
}

function gather(gathering: OperationGatherer, spans: OtlpSpan[], project: string | undefined): void {
  const runIds = new Map(spans.map((span) => [span.spanId, readRunId(span)]));
  for (const span of spans) {
    if (span.spanId.length !== 16 || span.traceId.length !== 32) {
      gathering.fault(null, "a span needs a traceId of 16 bytes and a spanId of 8");
      continue;
    }
    const run = toRun(span, runIds, project);
    gathering.addRun("post", run);
    addAttachments(gathering, String(run["id"]), parseValue(span.attributes["langsmith.attachments"]));
  }
}

/** `[{name, mime_type, content (base64)}]` */
function addAttachments(gathering: OperationGatherer, runId: string, list: unknown): void {
  if (!Array.isArray(list)) return;
  for (const item of list.filter(isObject)) {
    const { name, content, mime_type: type } = item;
    if (typeof name !== "string" || typeof content !== "string") continue;
    gathering.addPart({
      name: `attachment.${runId}.${name}`,
      type: typeof type === "string" ? type : "application/octet-stream",
      data: Buffer.from(content.replace(/^data:[^,]*,/, ""), "base64"),
    });
  }
}
