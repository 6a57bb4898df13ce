/** From a run as sent, with all its oddities, to the write that a partition merges. */
import { isObject, NESTING, nestsDeeper } from "../../http/json.ts";
import { asUuid, parseDotted, type Segment, uuidTime } from "../dotted.ts";
import type { RunWrite } from "../rpc.ts";
import { DAY_MICROS, inRange, microsFromIso } from "../time.ts";
import { HEAVY_FIELDS, type HeavyField, type Operation } from "./operations.ts";
import { flattenPairs, preview } from "./pairs.ts";
import { usageOf } from "./usage.ts";

/** A write with its payloads still whole; `placePayloads` moves the large ones to R2. */
export interface Draft {
  write: RunWrite;
  texts: Partial<Record<HeavyField, string>>;
  /** Small copies of payloads that turn out large. */
  previews: (field: HeavyField) => unknown;
  /** start_time as far as the operation tells it: from dotted_order, start_time, or the id. */
  start: number | undefined;
  /** Whether `start` is what the sender said, or only read from the id. */
  startIsCertain: boolean;
  project: { id?: string; name?: string };
  warnings: string[];
}

const MAX_METADATA = 64 * 1024;

/** Reads one operation: what cannot be understood is left out and named in `warnings`. */
export function draftOf(operation: Operation): Draft {
  const { run, kind, id } = operation;
  const warnings: string[] = [];
  const place = placeOf(id, run, warnings);
  const stated = timeOf(run["start_time"]);
  if (run["start_time"] !== undefined && run["start_time"] !== null && stated === undefined) {
    warnings.push("start_time: not a time");
  }
  const segmentStart = place.segments?.at(-1)?.start;
  const start = consistentStart(stated, segmentStart) ?? uuidTime(id);
  const texts = textsOf(operation, warnings);
  const value = (field: HeavyField) => (texts[field] === undefined ? undefined : run[field]);
  const write: RunWrite = {
    kind,
    id,
    ...place.fields,
    name: text(run["name"], 1_000),
    run_type: text(run["run_type"], 60),
    start_time: segmentStart === undefined && stated === undefined ? undefined : start,
    end_time: timeOf(run["end_time"]),
    first_token_time: timeOf(run["first_token_time"]) ?? firstToken(value("events")),
    tags: tagsOf(run["tags"]),
    reference_example_id: asUuid(run["reference_example_id"]),
    execution_order:
      typeof run["execution_order"] === "number" ? Math.max(1, Math.round(run["execution_order"])) : undefined,
    metadata: metadataOf(value("extra")),
    input_pairs: pairsOf(value("inputs")),
    output_pairs: pairsOf(value("outputs")),
    usage: usageOf(value("outputs"), value("extra")),
  };
  if (run["end_time"] !== undefined && run["end_time"] !== null && write.end_time === undefined)
    warnings.push("end_time: not a time");
  return {
    write,
    texts,
    previews: (field) => preview(run[field]),
    start,
    startIsCertain: write.start_time !== undefined,
    project: { id: asUuid(run["session_id"]), name: text(run["session_name"], 500) },
    warnings,
  };
}

interface Place {
  segments?: Segment[];
  fields: Pick<RunWrite, "trace_id" | "parent_run_id" | "dotted_order" | "is_root">;
}

/** Where the run stands in its trace. A dotted_order that contradicts the ids is left out, and derived again later. */
function placeOf(id: string, run: Record<string, unknown>, warnings: string[]): Place {
  const trace = asUuid(run["trace_id"]);
  const parent = asUuid(run["parent_run_id"]);
  const plain: Place = { fields: { trace_id: trace, parent_run_id: parent === id ? undefined : parent } };
  const given = run["dotted_order"];
  if (given === undefined || given === null || given === "") {
    return run["is_root"] === true ? { fields: { ...plain.fields, is_root: true } } : plain;
  }
  const dotted = typeof given === "string" ? given : "";
  const segments = parseDotted(dotted);
  if (!segments) {
    warnings.push("dotted_order: not of the form YYYYMMDDTHHMMSSffffffZ<uuid>, joined by dots");
    return plain;
  }
  const contradiction = contradictionOf(segments, id, trace, parent);
  if (contradiction) {
    warnings.push(`dotted_order: contradicts ${contradiction}`);
    return plain;
  }
  return {
    segments,
    fields: {
      trace_id: segments[0]?.id,
      parent_run_id: segments.at(-2)?.id,
      dotted_order: dotted.replaceAll(/Z[0-9A-Fa-f-]{36}/g, (part) => part.toLowerCase().replace("z", "Z")),
    },
  };
}

function contradictionOf(segments: Segment[], id: string, trace?: string, parent?: string): string | undefined {
  if (segments.at(-1)?.id !== id) return "id";
  if (trace !== undefined && segments[0]?.id !== trace) return "trace_id";
  if (parent !== undefined && segments.at(-2)?.id !== parent) return "parent_run_id";
  if (new Set(segments.map((segment) => segment.id)).size < segments.length) return "itself: an id occurs twice";
  return undefined;
}

/** The partition is the day of dotted_order, so a start_time of another day gives way to it. */
function consistentStart(stated: number | undefined, segmentStart: number | undefined): number | undefined {
  if (stated === undefined || segmentStart === undefined) return stated ?? segmentStart;
  const day = (micros: number) => Math.floor(micros / DAY_MICROS);
  return day(stated) === day(segmentStart) ? stated : segmentStart;
}

/** Times come as ISO strings and as numbers of milliseconds (or seconds, micro- or nanoseconds), even in one object. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "string")
    return microsFromIso(value) ?? (/^\d{9,20}$/.test(value) ? timeOf(Number(value)) : undefined);
  if (typeof value !== "number" || value <= 0) return undefined;
  if (value > 1e17) return inRange(value / 1000);
  if (value > 1e14) return inRange(value);
  if (value > 1e11) return inRange(value * 1000);
  return inRange(value * 1e6);
}

/** The JSON text of every heavy field that is given. `error` is plain text. */
function textsOf(operation: Operation, warnings: string[]): Draft["texts"] {
  const texts: Draft["texts"] = {};
  for (const field of HEAVY_FIELDS) {
    const value = operation.run[field];
    if (value === undefined || value === null) continue;
    const fault = unfit(field, value);
    if (fault) warnings.push(`${field}: ${fault}`);
    else if (!isNoise(field, value)) texts[field] = serialise(field, value, operation.texts[field]);
  }
  return texts;
}

function unfit(field: HeavyField, value: unknown): string | undefined {
  if (field === "events" && !Array.isArray(value)) return "expected a list";
  if (field === "extra" && !isObject(value)) return "expected an object";
  return nestsDeeper(value) ? `nested deeper than ${NESTING} levels` : undefined;
}

/** What the SDKs send without meaning anything by it. */
function isNoise(field: HeavyField, value: unknown): boolean {
  if (field === "serialized") return isObject(value) && Object.keys(value).length === 0;
  return (field === "events" && Array.isArray(value) && value.length === 0) || (field === "error" && value === "");
}

function serialise(field: HeavyField, value: unknown, sent: string | undefined): string {
  if (field === "error") return typeof value === "string" ? value : JSON.stringify(value);
  // Text that came as a part is kept as it is, unless it has escapes that would hide it from search.
  return sent !== undefined && !sent.includes("\\u") ? sent : JSON.stringify(value);
}

function text(value: unknown, limit: number): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, limit);
}

function tagsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const tags = value.filter((tag) => typeof tag === "string").map((tag) => tag.slice(0, 500));
  return [...new Set(tags)].slice(0, 200);
}

function metadataOf(extra: unknown): string | undefined {
  const metadata = isObject(extra) ? extra["metadata"] : undefined;
  if (!isObject(metadata)) return undefined;
  const whole = JSON.stringify(metadata);
  return whole.length <= MAX_METADATA ? whole : JSON.stringify(preview(metadata));
}

function pairsOf(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(flattenPairs(value));
}

/** The first `new_token` event of a streamed model call. */
function firstToken(events: unknown): number | undefined {
  if (!Array.isArray(events)) return undefined;
  const event: unknown = events.find((item) => isObject(item) && item["name"] === "new_token");
  return isObject(event) ? timeOf(event["time"]) : undefined;
}
