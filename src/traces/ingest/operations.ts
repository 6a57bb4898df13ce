/** What one ingest request asks for, whichever route it came by: run operations, attachments, feedback, and faults. */
import { isObject, parseJson } from "../../http/json.ts";
import { asUuid } from "../dotted.ts";
import { type Part } from "./multipart.ts";

/** The heavy fields of a run, which multipart sends as parts of their own. */
export const HEAVY_FIELDS = ["inputs", "outputs", "events", "extra", "error", "serialized"] as const;
export type HeavyField = (typeof HEAVY_FIELDS)[number];

export interface Operation {
  kind: "post" | "patch";
  id: string;
  /** The run object as sent, heavy fields included. */
  run: Record<string, unknown>;
  /** The JSON texts of heavy fields that came as parts, so that they need not be serialised again. */
  texts: Partial<Record<HeavyField, string>>;
  attachments: Attachment[];
}

export interface Attachment {
  name: string;
  type: string;
  data: Uint8Array;
}

/** What was not taken, and why: it goes into the 202 body, for a batch is never refused because of one odd run. */
export interface IngestFault {
  id: string | null;
  message: string;
}

export interface Ingest {
  operations: Operation[];
  feedback: { runId: string; body: Record<string, unknown> }[];
  faults: IngestFault[];
}

/** More faults than this are only counted. */
const MAX_FAULTS = 100;

const decoder = new TextDecoder();

/** Gathers the parts of each run, in any order. */
export class Gathering implements Ingest {
  readonly feedback: Ingest["feedback"] = [];
  readonly faults: IngestFault[] = [];
  rejected = 0;
  private readonly byKey = new Map<string, Operation>();
  private readonly loose: { runId: string; attachment: Attachment }[] = [];

  get operations(): Operation[] {
    return [...this.byKey.values()];
  }

  fault(id: string | null, message: string): void {
    this.rejected++;
    if (this.faults.length < MAX_FAULTS) this.faults.push({ id, message });
  }

  /** One part of a multipart body; one that cannot be understood is noted and skipped. */
  addPart(part: Part): void {
    const [kind = "", rawId = "", ...rest] = part.name.split(".");
    const id = asUuid(rawId);
    if (!["post", "patch", "attachment", "feedback"].includes(kind) || !id) {
      const shown = part.name.slice(0, 80);
      return this.fault(
        id ?? null,
        `part ${JSON.stringify(shown)}: expected post.<uuid>, patch.<uuid>, attachment.<uuid>.<name> or feedback.<uuid>`,
      );
    }
    if (kind === "attachment") return this.addAttachment(id, rest.join("."), part);
    const text = decoder.decode(part.data);
    const value = parseJson(text);
    if (value === undefined)
      return this.fault(id, `part ${kind}.${[id, ...rest].join(".").slice(0, 80)}: not valid JSON`);
    if (kind === "feedback") return this.addFeedback(id, value);
    this.addField(kind as "post" | "patch", id, rest.join("."), value, text);
  }

  /** A run object with its heavy fields inline, as /runs/batch and /runs send it. */
  addRun(kind: "post" | "patch", run: unknown, pathId?: string): void {
    if (!isObject(run)) return this.fault(pathId ?? null, `${kind}: a run is a JSON object`);
    const id = asUuid(pathId ?? run["id"]);
    if (!id) return this.fault(typeof run["id"] === "string" ? run["id"].slice(0, 80) : null, "id: expected a UUID");
    Object.assign(this.operation(kind, id).run, run, { id });
  }

  /** Attachments whose run object is elsewhere go with an otherwise empty patch. */
  finish(): this {
    for (const { runId, attachment } of this.loose) {
      const known = this.byKey.get(`post.${runId}`) ?? this.operation("patch", runId);
      known.attachments.push(attachment);
    }
    this.loose.length = 0;
    return this;
  }

  private addAttachment(runId: string, name: string, part: Part): void {
    if (name === "" || name.length > 200)
      return this.fault(runId, "attachment: expected a name of 1 to 200 characters");
    this.loose.push({ runId, attachment: { name, type: part.type, data: new Uint8Array(part.data) } });
  }

  private addFeedback(runId: string, value: unknown): void {
    if (!isObject(value)) return this.fault(runId, "feedback: expected a JSON object");
    this.feedback.push({ runId, body: value });
  }

  private addField(kind: "post" | "patch", id: string, field: string, value: unknown, text: string): void {
    if (field === "") {
      if (!isObject(value)) return this.fault(id, `part ${kind}: a run is a JSON object`);
      Object.assign(this.operation(kind, id).run, value, { id });
      return;
    }
    const heavy = HEAVY_FIELDS.find((name) => name === field);
    if (!heavy) return this.fault(id, `part ${kind}.${field.slice(0, 40)}: no such field of a run`);
    const operation = this.operation(kind, id);
    operation.run[heavy] = value;
    operation.texts[heavy] = text;
  }

  private operation(kind: "post" | "patch", id: string): Operation {
    const key = `${kind}.${id}`;
    let operation = this.byKey.get(key);
    if (!operation) {
      operation = { kind, id, run: {}, texts: {}, attachments: [] };
      this.byKey.set(key, operation);
    }
    return operation;
  }
}
