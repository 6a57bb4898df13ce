/** The content of one ingest request, the same for every route: run operations, attachments, feedback, and faults. */
import {
  countValues,
  JSON_VALUES,
  tooManyValues,
  VALUE_BYTES,
  hasLongInteger,
  isObject,
  NESTING,
  nestsDeeper,
  parseExact,
} from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { asUuid } from "../time.ts";
import { FIELD_BYTES, LARGE_BYTES } from "../limits.ts";
import { LARGE_FIELDS, type LargeField } from "../types.ts";
import type { Masker } from "../masking/masker.ts";
import { type Field, readField, readMembers, parsePiece } from "./reader.ts";
import type { MultipartPart } from "./multipart.ts";

type Kind = "post" | "patch";

export interface RunOperation {
  kind: Kind;
  id: string;
  /** The run object as sent, without its heavy fields. */
  run: Record<string, unknown>;
  /** The heavy fields. A string is the reason why a field is not valid. */
  fields: Partial<Record<LargeField, Field | string>>;
  attachments: Attachment[];
}

interface Attachment {
  name: string;
  type: string;
  data: Uint8Array;
}

/**
 * The rejected operations with reasons. They are in the 202 body, because a batch is never refused because of one run.
 */
export interface IngestFault {
  id: string | null;
  message: string;
}

/** More faults than this are only counted. */
const MAX_FAULTS = 100;
/**
 * The most runs, attachments and feedback of one request. An attachment takes a call to R2, a feedback several queries
 * to D1.
 */
const MAX_RUNS = 10_000;
const MAX_ATTACHMENTS = 1_000;
const MAX_FEEDBACK = 100;
/** The most values of all JSON texts of one request: ten bytes each in a body of 20 MB. */
export const REQUEST_VALUES = 2_000_000;
/** The most bytes of a run's field that is no heavy field, and of a feedback. */
const SMALL_BYTES = 512 * 1024;
/** The percent-encoded name becomes part of an R2 key, which has at most 1,024 bytes. */
const MAX_NAME = 200;
const MAX_ENCODED_NAME = 800;
/** The memory of a run besides its texts, bytes. */
const RUN_WEIGHT = 2_000;
const decoder = new TextDecoder();

/** The light fields with texts of a sender's own. The others are ids, times and numbers. */
const MASKED = new Set(["name", "tags"]);

/** The fields that determine a run's partition. Parts that arrive after the run was drained need them again. */
const PLACE = ["trace_id", "parent_run_id", "dotted_order", "is_root", "start_time", "session_id", "session_name"];

/** Gathers the parts of each run, in any order. It can be drained while more parts arrive. */
export class OperationGatherer {
  /** `masker`: masks what is gathered, before anything else reads it. `newId`: the id of what is sent without one. */
  constructor(
    private readonly masker?: Masker,
    private readonly newId: () => string = uuidv7,
  ) {}

  readonly feedback: { runId: string; body: Record<string, unknown> }[] = [];
  readonly faults: IngestFault[] = [];
  rejected = 0;
  /** The approximate memory of the gathered parts, bytes. */
  weight = 0;
  private byKey = new Map<string, RunOperation>();
  /** The `PLACE` fields of drained runs. */
  private readonly drained = new Map<string, Record<string, unknown>>();
  private loose: { runId: string; attachment: Attachment }[] = [];
  private attachments = 0;
  private values = 0;

  fault(id: string | null, message: string): undefined {
    this.rejected++;
    this.note(id, message);
  }

  /** Adds a message about a run that is taken. */
  note(id: string | null, message: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ id, message });
  }

  /** One part of a multipart body; one that cannot be understood is noted and skipped. */
  addPart({ name, type, data }: MultipartPart): void {
    const [kind = "", rawId = "", ...rest] = name.split(".");
    const id = asUuid(rawId);
    if (!["post", "patch", "attachment", "feedback"].includes(kind) || !id) {
      const shown = name.slice(0, 80);
      return this.fault(
        id ?? null,
        `part ${JSON.stringify(shown)}: expected post.<uuid>, patch.<uuid>, attachment.<uuid>.<name> or feedback.<uuid>`,
      );
    }
    const shown = `part ${kind}.${[id, ...rest].join(".").slice(0, 80)}`;
    if (!data) return this.fault(id, `${shown}: too large`);
    if (kind === "attachment") return this.addAttachment(id, rest.join("."), type, data);
    try {
      const json = trim(data);
      if (kind === "feedback") return this.addFeedback(id, json);
      if (rest.length === 0) return this.addRunText(kind as Kind, json, id);
      this.addField(kind as Kind, id, rest.join("."), json);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 400) throw error;
      this.fault(id, `${shown}: not valid JSON`);
    }
  }

  /**
   * A run object as JSON, heavy fields inline, as /runs/batch and /runs send it. @throws Problem 400 when it is no
   * JSON.
   */
  addRunText(kind: Kind, json: Uint8Array, pathId?: string): void {
    const values = this.count(json);
    if (values > JSON_VALUES) return this.fault(pathId ?? null, `${kind}: holds more than ${JSON_VALUES} values`);
    if (json.byteLength <= LARGE_BYTES && !hasLongInteger(decoder.decode(json))) {
      this.weight += json.byteLength + values * VALUE_BYTES;
      return void this.addRun(kind, parsePiece(json), pathId);
    }
    // Member by member: only one heavy field is parsed at a time, and its text is kept with every digit.
    const run: Record<string, unknown> = {};
    const heavy: [LargeField, Uint8Array][] = [];
    for (const [name, value] of readMembers(json)) {
      const field = asLargeField(name);
      if (field) heavy.push([field, value]);
      else if (value.byteLength <= SMALL_BYTES) {
        this.weight += value.byteLength + countValues(value, JSON_VALUES) * VALUE_BYTES;
        run[name] = parsePiece(value);
      }
    }
    const id = this.addRun(kind, run, pathId);
    if (id) for (const [field, value] of heavy) this.readField(kind, id, field, value);
  }

  /** A run object with its heavy fields inline. Returns the run's id, or undefined for a fault. */
  addRun(kind: Kind, given: unknown, pathId?: string): string | undefined {
    if (!isObject(given)) return this.fault(pathId ?? null, `${kind}: a run is a JSON object`);
    // `createRun` of the JavaScript SDK may send a run without an id: the platform gives it one.
    const isUnnamed = kind === "post" && pathId === undefined && (given["id"] ?? null) === null;
    const isNew = isUnnamed && typeof given["name"] === "string";
    const id = isNew ? this.newId() : asUuid(pathId ?? given["id"]);
    if (!id) {
      const shown = typeof given["id"] === "string" ? given["id"].slice(0, 80) : null;
      return this.fault(shown, "id: expected a UUID");
    }
    const operation = this.operation(kind, id);
    for (const [name, value] of Object.entries(given)) {
      const field = asLargeField(name);
      if (field) this.setField(operation, field, readField(field, value, undefined, this.masker));
      else operation.run[name] = MASKED.has(name) ? (this.masker?.field(name, value) ?? value) : value;
    }
    operation.run["id"] = id;
    return id;
  }

  /**
   * Removes and returns the gathered operations. Attachments of runs that have not arrived stay. At the end they become
   * patches without fields.
   */
  drain(isEnd: boolean): RunOperation[] {
    const waiting: typeof this.loose = [];
    for (const loose of this.loose) {
      const kind = (["post", "patch"] as const).find((kind) => this.knows(`${kind}.${loose.runId}`));
      if (kind || isEnd) this.operation(kind ?? "patch", loose.runId).attachments.push(loose.attachment);
      else waiting.push(loose);
    }
    const operations = [...this.byKey.values()];
    for (const [key, { run }] of this.byKey) {
      this.drained.set(key, Object.fromEntries(PLACE.flatMap((name) => (name in run ? [[name, run[name]]] : []))));
    }
    this.byKey = new Map();
    this.loose = waiting;
    this.weight = waiting.reduce((sum, { attachment }) => sum + attachment.data.byteLength, 0);
    return operations;
  }

  private knows(key: string): boolean {
    return this.byKey.has(key) || this.drained.has(key);
  }

  private addAttachment(runId: string, name: string, type: string, data: Uint8Array): void {
    const isName = name !== "" && name.length <= MAX_NAME && name.isWellFormed();
    if (!isName || encodeURIComponent(name).length > MAX_ENCODED_NAME)
      return this.fault(runId, `attachment: expected a name of 1 to ${MAX_NAME} characters`);
    if (this.attachments++ === MAX_ATTACHMENTS)
      return this.fault(runId, `attachment: a request has at most ${MAX_ATTACHMENTS} of them`);
    const kept = data.byteLength > LARGE_BYTES ? data : new Uint8Array(data);
    this.weight += kept.byteLength;
    const masked = this.masker?.attachment(name) ?? name;
    this.loose.push({ runId, attachment: { name: masked, type: type.slice(0, MAX_NAME), data: kept } });
  }

  /** Current SDKs name the part by the feedback's id and the run in the body. Older ones name the part by the run's id. */
  private addFeedback(id: string, json: Uint8Array): void {
    if (json.byteLength > SMALL_BYTES) return this.fault(id, `feedback: larger than ${SMALL_BYTES} bytes`);
    this.count(json);
    const value = parsePiece(json);
    if (!isObject(value)) return this.fault(id, "feedback: expected a JSON object");
    if (nestsDeeper(value)) return this.fault(id, `feedback: nested deeper than ${NESTING} levels`);
    if (this.feedback.length === MAX_FEEDBACK)
      return this.fault(id, `feedback: a request has at most ${MAX_FEEDBACK} of them`);
    const { run_id } = value;
    const isOfRun = typeof run_id !== "string" || run_id === id;
    const feedbackId = value["id"] ?? (isOfRun ? this.newId() : id);
    this.feedback.push({ runId: isOfRun ? id : run_id, body: { ...value, id: feedbackId } });
  }

  private addField(kind: Kind, id: string, name: string, json: Uint8Array): void {
    const field = asLargeField(name);
    if (!field) return this.fault(id, `part ${kind}.${name.slice(0, 40)}: no such field of a run`);
    if (this.count(json) > JSON_VALUES) return this.fault(id, `${field}: holds more than ${JSON_VALUES} values`);
    this.readField(kind, id, field, json);
  }

  private readField(kind: Kind, id: string, field: LargeField, json: Uint8Array): void {
    if (json.byteLength > FIELD_BYTES) return this.fault(id, `${field}: larger than ${FIELD_BYTES} bytes`);
    const read = readField(field, parsePiece(json, parseExact), json, this.masker);
    if (read !== undefined) this.setField(this.operation(kind, id), field, read);
  }

  /** The values of a JSON text, up to one more than `JSON_VALUES`. @throws Problem 413 when the request holds too many. */
  private count(json: Uint8Array): number {
    const values = countValues(json, JSON_VALUES);
    this.values += values;
    if (this.values > REQUEST_VALUES) throw tooManyValues(REQUEST_VALUES);
    return values;
  }

  private setField(operation: RunOperation, name: LargeField, field: Field | string | undefined): void {
    operation.fields[name] = field;
    if (typeof field === "object") {
      this.weight += typeof field.content === "string" ? field.content.length : field.content.bytes.byteLength;
    }
  }

  private operation(kind: Kind, id: string): RunOperation {
    const key = `${kind}.${id}`;
    const known = this.byKey.get(key);
    if (known) return known;
    const place = this.drained.get(key);
    if (!place && this.drained.size + this.byKey.size >= MAX_RUNS) {
      throw new Problem(413, `More than ${MAX_RUNS} runs. Send fewer at a time.`);
    }
    const operation: RunOperation = { kind, id, run: { ...place }, fields: {}, attachments: [] };
    this.byKey.set(key, operation);
    this.weight += RUN_WEIGHT;
    return operation;
  }
}

function asLargeField(name: string): LargeField | undefined {
  return LARGE_FIELDS.find((field) => field === name);
}

/** Copies a large part to a buffer of its size and frees the old buffer, which is up to half as large again. */
function trim(data: Uint8Array): Uint8Array {
  if (data.byteLength <= LARGE_BYTES) return data;
  const exact = new Uint8Array(data);
  (data.buffer as ArrayBuffer).transfer(0);
  return exact;
}
