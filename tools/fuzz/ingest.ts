/** Traces as SDKs send them: batches, multipart bodies, and OTLP as JSON and as protobuf. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Dice } from "./dice.ts";
import { someHeaders } from "./headers.ts";
import { damageText, pickHostileNumber, hostileObject, hostileText, hostileValue } from "./hostile.ts";
import { encodeBody } from "./operations.ts";
import { type FuzzRequest, toJson } from "./request.ts";
import type { Actor, Known } from "./world.ts";

const TIMES = ["2026-01-02T12:00:00.000000", "2026-01-02T12:00:01Z", 1_767_355_200_000, 1e300, null];

function run(dice: Dice, known: Known): Record<string, unknown> {
  const id = dice.chance(0.95) ? known.id(dice, "trace_run_id") : hostileText(dice);
  const all = {
    id,
    trace_id: dice.chance(0.8) ? id : known.id(dice, "trace_run_id"),
    dotted_order: dice.chance(0.9) ? `20260102T120000000000Z${id}` : hostileText(dice),
    name: hostileText(dice),
    run_type: dice.pick(["llm", "chain", "tool", hostileText(dice)]),
    start_time: dice.chance(0.9) ? dice.pick(TIMES) : hostileText(dice),
    end_time: dice.pick([...TIMES, hostileText(dice)]),
    session_name: dice.chance(0.8) ? "fuzz" : hostileText(dice),
    session_id: known.id(dice, "session_id"),
    parent_run_id: known.id(dice, "trace_run_id"),
    inputs: dice.chance(0.7) ? hostileObject(dice) : hostileValue(dice),
    outputs: { usage_metadata: { total_tokens: pickHostileNumber(dice), input_tokens: pickHostileNumber(dice) } },
    extra: { metadata: hostileObject(dice), runtime: hostileValue(dice) },
    tags: dice.chance(0.7) ? dice.some(3, () => hostileText(dice)) : hostileValue(dice),
    events: dice.some(2, () => ({ name: "new_token", time: dice.pick(TIMES), kwargs: hostileValue(dice) })),
    error: hostileText(dice),
    serialized: hostileValue(dice),
    total_cost: pickHostileNumber(dice),
  };
  const always = new Set(["id", "trace_id", "dotted_order", "name", "run_type", "start_time"]);
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => (always.has(name) ? !dice.chance(0.02) : dice.chance(0.3))),
  );
}

function multipart(dice: Dice, known: Known): Pick<FuzzRequest, "body" | "headers"> {
  const boundary = dice.chance(0.95) ? "----b" : hostileText(dice).replaceAll(/[^ -~]/g, "");
  const parts = Array.from({ length: dice.int(0, 6) }, () => {
    const one = run(dice, known);
    const text = dice.chance(0.9) ? toJson(one) : damageText(dice, toJson(one));
    const event = dice.pick(["post", "patch", "feedback", "attachment", "nothing", hostileText(dice)]);
    const field = dice.pick(["", "", ".inputs", ".outputs", ".events", ".extra", ".note", `.${hostileText(dice)}`]);
    const type = dice.pick([
      "application/json",
      "application/json",
      "text/plain",
      "application/octet-stream",
      hostileText(dice),
    ]);
    const length = dice.chance(0.8) ? Buffer.byteLength(text) : pickHostileNumber(dice);
    return `--${boundary}\r\ncontent-disposition: form-data; name="${event}.${String(one.id)}${field}"\r\ncontent-type: ${type}; length=${length}\r\n\r\n${text}\r\n`;
  });
  const whole = `${parts.join("")}--${boundary}--\r\n`;
  const body = dice.chance(0.85) ? whole : damageText(dice, whole);
  return { headers: { "content-type": `multipart/form-data; boundary=${boundary}` }, body };
}

const hex = (dice: Dice, length: number) => Array.from({ length }, () => dice.int(0, 15).toString(16)).join("");
const KEYS = [
  "gen_ai.usage.input_tokens",
  "gen_ai.prompt.0.content",
  "langsmith.trace.session_name",
  "langsmith.span.kind",
  "input.value",
  "gen_ai.completion.999999.content",
  "__proto__.x",
];

function otlpValue(dice: Dice, depth = 0): unknown {
  const plain = [
    { stringValue: hostileText(dice) },
    { intValue: dice.pick(["1", "-1", "1e99", hostileText(dice)]) },
    { doubleValue: pickHostileNumber(dice) },
    { boolValue: "x" },
    { bytesValue: "!" },
    {},
    null,
  ];
  if (depth > 2 || dice.chance(0.7)) return dice.pick(plain);
  const values = dice.some(3, () => otlpValue(dice, depth + 1));
  return dice.chance(0.5)
    ? { arrayValue: { values } }
    : { kvlistValue: { values: values.map((value) => ({ key: dice.pick(KEYS), value })) } };
}

function otlpJson(dice: Dice): unknown {
  if (dice.chance(0.1)) return hostileValue(dice);
  const attributes = () =>
    dice.some(4, () => ({ key: dice.chance(0.8) ? dice.pick(KEYS) : hostileText(dice), value: otlpValue(dice) }));
  const span = () => ({
    traceId: dice.chance(0.9) ? hex(dice, 32) : hostileText(dice),
    spanId: dice.chance(0.9) ? hex(dice, 16) : hostileText(dice),
    ...(dice.chance(0.4) && { parentSpanId: hex(dice, 16) }),
    name: hostileText(dice),
    kind: pickHostileNumber(dice),
    startTimeUnixNano: dice.pick(["1767355200000000000", 0, "-1", "99999999999999999999999", hostileText(dice)]),
    endTimeUnixNano: dice.pick(["1767355201000000000", 0, hostileText(dice)]),
    attributes: attributes(),
    events: dice.some(2, () => ({
      timeUnixNano: "1767355200000000000",
      name: hostileText(dice),
      attributes: attributes(),
    })),
    status: dice.pick([{ code: 2, message: hostileText(dice) }, {}, hostileValue(dice)]),
  });
  return { resourceSpans: [{ resource: { attributes: attributes() }, scopeSpans: [{ spans: dice.some(4, span) }] }] };
}

function otlpProtobuf(dice: Dice): Uint8Array {
  const writer = new BinaryWriter();
  const message = (field: number, fill: () => void) => {
    writer.tag(field, WireType.LengthDelimited).fork();
    fill();
    writer.join();
  };
  message(1, () =>
    message(2, () =>
      message(2, () => {
        writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(hex(dice, dice.pick([32, 32, 8])), "hex"));
        writer.tag(2, WireType.LengthDelimited).bytes(Buffer.from(hex(dice, 16), "hex"));
        writer.tag(5, WireType.LengthDelimited).string(hostileText(dice).toWellFormed());
        writer.tag(7, WireType.Bit64).fixed64(BigInt(dice.int(0, 2 ** 31)) * 1_000_000_000n);
        writer.tag(dice.int(1, 30), WireType.Varint).int64(dice.int(-5, 5));
      }),
    ),
  );
  const bytes = writer.finish();
  if (dice.chance(0.4)) bytes[dice.int(0, bytes.length - 1)] = dice.int(0, 255);
  return dice.chance(0.2) ? bytes.subarray(0, dice.int(0, bytes.length)) : bytes;
}

export function ingestRequest(dice: Dice, actor: Actor): FuzzRequest {
  const { known } = actor;
  const prefix = dice.pick(["", "/api/v1"]);
  const base = { ...actor.headers, ...someHeaders(dice) };
  const request = (path: string, more: Pick<FuzzRequest, "body" | "headers">): FuzzRequest => ({
    kind: "ingest",
    actor: actor.name,
    method: "POST",
    path: prefix + path,
    ...more,
  });
  switch (dice.int(0, 4)) {
    case 0: {
      const { body, headers } = multipart(dice, known);
      return request("/runs/multipart", { body, headers: { ...base, ...headers } });
    }
    case 1:
      return request(
        "/runs/batch",
        encodeBody(
          dice,
          { post: dice.some(4, () => run(dice, known)), patch: dice.some(3, () => run(dice, known)) },
          base,
        ),
      );
    case 2:
      return request("/otel/v1/traces", encodeBody(dice, otlpJson(dice), base));
    case 3:
      return request("/otel/v1/traces", {
        headers: { ...base, "content-type": "application/x-protobuf" },
        body: otlpProtobuf(dice),
      });
    default:
      return request("/runs", encodeBody(dice, run(dice, known), base));
  }
}
