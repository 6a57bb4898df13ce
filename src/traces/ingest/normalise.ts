/** From a run as sent, with all its oddities, to the write that a partition merges. */
import { byteLength } from "../../lib/bytes.ts";
import {
  asUuid,
  parseDotted,
  type OrderSegment,
  uuidTime,
  DAY_MICROS,
  keepInRange,
  isOutsideTime,
  parseTime,
} from "../time.ts";
import { TAGS_BYTES } from "../limits.ts";
import { LARGE_FIELDS, type LargeField, RUN_TYPES, type RunWrite } from "../types.ts";
import type { Field } from "./reader.ts";
import type { RunOperation } from "./operations.ts";

/** A write without its payloads. `placePayloads` adds them. */
export interface RunDraft {
  write: RunWrite;
  fields: Partial<Record<LargeField, Field>>;
  /** start_time, if the operation has it: from dotted_order, start_time, or the id. */
  start: number | undefined;
  /** Whether `start` is what the sender said, or only read from the id. */
  startIsCertain: boolean;
  project: { id?: string; name?: string };
  /** What was left out or cut. */
  warnings: string[];
  /** Why the run cannot be stored. */
  refusal: string | undefined;
}

/** Reads one operation: what cannot be understood is left out and named in `warnings`. */
export function readRunDraft(operation: RunOperation): RunDraft {
  const { run, kind, id } = operation;
  const warnings: string[] = [];
  const location = readTreePosition(id, run, warnings);
  const stated = parseTime(run["start_time"]);
  const segmentStart = location.segments?.at(-1)?.start;
  const isUnread = run["start_time"] !== undefined && run["start_time"] !== null && stated === undefined;
  const refusal = findTimeFault(isUnread ? run["start_time"] : undefined, segmentStart) ?? typeRefusal(run["run_type"]);
  if (isUnread) warnings.push("start_time: not a time; it was left out");
  const start = consistentStart(stated, segmentStart) ?? uuidTime(id);
  const fields = readFields(operation, warnings);
  const { inputs, outputs, extra, events } = fields;
  const write: RunWrite = {
    kind,
    id,
    ...location.fields,
    name: normaliseText("name", run["name"], 1_000, warnings),
    run_type: normaliseText("run_type", run["run_type"], 60, warnings)?.toLowerCase(),
    start_time: segmentStart === undefined && stated === undefined ? undefined : start,
    start_is_derived: segmentStart === undefined || start === stated ? undefined : true,
    end_time: parseTime(run["end_time"]),
    first_token_time: parseTime(run["first_token_time"]) ?? events?.firstToken,
    tags: readTags(run["tags"], warnings),
    reference_example_id: asUuid(run["reference_example_id"]),
    execution_order:
      typeof run["execution_order"] === "number" ? Math.max(1, Math.round(run["execution_order"])) : undefined,
    metadata: extra?.metadata,
    input_pairs: inputs?.pairs,
    output_pairs: outputs?.pairs,
    usage: outputs?.stated ?? extra?.stated ?? outputs?.derived,
  };
  if (run["end_time"] !== undefined && run["end_time"] !== null && write.end_time === undefined)
    warnings.push("end_time: not a time; it was left out");
  return {
    write,
    fields,
    start,
    startIsCertain: write.start_time !== undefined,
    project: {
      id: asUuid(run["session_id"]),
      name: normaliseText("session_name", run["session_name"], 500, warnings),
    },
    warnings,
    refusal,
  };
}

/** A run of 1969 or 2300 belongs to no day that can be stored. The day of its arrival would be wrong. */
function findTimeFault(unread: unknown, segmentStart: number | undefined): string | undefined {
  if (isOutsideTime(unread)) return "start_time: outside the years 1970 to 2254";
  const isOutside = segmentStart !== undefined && keepInRange(segmentStart) === undefined;
  return isOutside ? "dotted_order: outside the years 1970 to 2254" : undefined;
}

/** The second generation of queries shows types in upper case, and a run that is copied has them so. */
function typeRefusal(type: unknown): string | undefined {
  if (type === undefined || type === null || type === "") return undefined;
  if (typeof type === "string" && RUN_TYPES.has(type.toLowerCase())) return undefined;
  return `run_type: expected one of ${[...RUN_TYPES].join(", ")}`;
}

function readFields({ fields }: RunOperation, warnings: string[]): RunDraft["fields"] {
  const taken: RunDraft["fields"] = {};
  for (const name of LARGE_FIELDS) {
    const field = fields[name];
    if (typeof field === "string") warnings.push(`${name}: ${field}; it was left out`);
    else if (field) taken[name] = field;
  }
  return taken;
}

interface TreePosition {
  segments?: OrderSegment[];
  fields: Pick<RunWrite, "trace_id" | "parent_run_id" | "dotted_order" | "is_root">;
}

/** The run's position in its trace. A dotted_order that contradicts the ids is left out, and derived again later. */
function readTreePosition(id: string, run: Record<string, unknown>, warnings: string[]): TreePosition {
  const trace = asUuid(run["trace_id"]);
  const parent = asUuid(run["parent_run_id"]);
  const plain: TreePosition = { fields: { trace_id: trace, parent_run_id: parent === id ? undefined : parent } };
  const given = run["dotted_order"];
  if (given === undefined || given === null || given === "") {
    return run["is_root"] === true ? { fields: { ...plain.fields, is_root: true } } : plain;
  }
  const dotted = typeof given === "string" ? given : "";
  const segments = parseDotted(dotted);
  if (!segments) {
    warnings.push("dotted_order: not of the form YYYYMMDDTHHMMSSffffffZ<uuid>, joined by dots; it was left out");
    return plain;
  }
  const contradiction = findContradiction(segments, id, trace, parent);
  if (contradiction) {
    warnings.push(`dotted_order: contradicts ${contradiction}; it was left out`);
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

function findContradiction(segments: OrderSegment[], id: string, trace?: string, parent?: string): string | undefined {
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

function normaliseText(name: string, value: unknown, limit: number, warnings: string[]): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  // SQLite stores UTF-8, which has no lone surrogates.
  const whole = (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
  if (whole.length > limit) warnings.push(`${name}: longer than ${limit} characters; the rest was left out`);
  return whole.slice(0, limit).toWellFormed();
}

const MAX_TAGS = 200;
const MAX_TAG = 500;

function readTags(value: unknown, warnings: string[]): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const given = [...new Set(value.flatMap((tag) => (typeof tag === "string" ? [tag.toWellFormed()] : [])))];
  const tags = given.slice(0, MAX_TAGS).map((tag) => tag.slice(0, MAX_TAG).toWellFormed());
  while (byteLength(tags) > TAGS_BYTES) tags.length >>= 1;
  if (tags.length < given.length || tags.some((tag, i) => tag !== given[i])) {
    warnings.push(`tags: more than ${MAX_TAGS} tags of ${MAX_TAG} characters; the rest was left out`);
  }
  return tags;
}
