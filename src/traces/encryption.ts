/**
 * Traces of a workspace that encrypts. What a run was given and said is sealed before it is sent to its partition, and opened when it
 * comes from there: a partition has no key, and what it filters, sums and sorts by stays readable. docs/encryption.md has the list.
 */
import { isSealedJson, isSealed, JSON_MARK, openOr, type Ring } from "../access/encryption/ring.ts";
import { parseExact, isObject, parseJson } from "../lib/json.ts";
import { withRing } from "../access/encryption/keys.ts";
import { type PageRequest, type RunPage, TextsBuilder, readTexts, type Texts } from "./columns.ts";
import type { TracePartitionRpc } from "./rpc.ts";
import {
  LARGE_FIELDS,
  type LargeField,
  PAYLOAD_FIELDS,
  type PayloadWrite,
  type QueriedRun,
  type RunWrite,
  type StoredFeedback,
} from "./types.ts";

// `extra` of a run: how that of its post and those of its patches become one.

type Extra = Record<string, unknown>;

/** Sealed texts of one run that wait to be joined. SDKs send a post and a patch. */
const MAX_SEALED = 8;

/** Two levels deep, so that the members of `extra.metadata` are joined. `over` wins. */
export function mergeExtras(under: Extra, over: Extra): Extra {
  const merged: Extra = { ...under, ...over };
  for (const [key, value] of Object.entries(over)) {
    const below = under[key];
    if (isObject(value) && isObject(below)) merged[key] = { ...below, ...value };
  }
  return merged;
}

/** Whether the text is a list of texts, which a partition cannot join. An `extra` itself is an object. */
export const isList = (extra: string): boolean => extra.startsWith("[");

export const isSealedExtra = (extra: string): boolean => isList(extra) || isSealedJson(extra);

const withoutBrackets = (extra: string) => (isList(extra) ? extra.slice(1, -1) : extra);

/** Both as a JSON list of objects and sealed texts, the one that wins last. Undefined when they are too many. */
export function listExtras(under: string, over: string): string | undefined {
  const list = `[${withoutBrackets(under)},${withoutBrackets(over)}]`;
  return (JSON.parse(list) as unknown[]).length <= MAX_SEALED ? list : undefined;
}

/** The `extra` that a list of texts makes, once each is opened. */
export function joinExtras(list: string, open: (sealed: string) => string): string {
  const parts = (parseExact(list) as unknown[]).map((part) =>
    typeof part === "string" ? (parseExact(open(part)) as Extra) : (part as Extra),
  );
  return JSON.stringify(parts.reduce(mergeExtras, {}));
}

/** The payloads of a run whose key is destroyed. */
const UNREADABLE: Partial<QueriedRun> = {
  ...Object.fromEntries(LARGE_FIELDS.map((field) => [field, null])),
  large: undefined,
  previews: undefined,
  error: "This run was encrypted with a key that has been destroyed.",
};

const fieldContext = (runId: string, field: string) => ["trace run", runId, field];

/** The text of a payload as its row may hold it. "{}" stays: a merge takes it for "nothing to say". */
function sealText(ring: Ring, runId: string, field: LargeField, text: string): string {
  if (!ring.isOn || text === "{}") return text;
  const sealed = ring.seal(text, fieldContext(runId, field));
  return field === "error" ? sealed : JSON.stringify(sealed);
}

/** Seals the payloads of a write. The entries that filters search are left out. */
export function sealWrite(ring: Ring, write: RunWrite): void {
  if (!ring.isOn) return;
  for (const field of LARGE_FIELDS) {
    const payload: PayloadWrite | undefined = write[field];
    if (!payload) continue;
    if ("text" in payload) write[field] = { text: sealText(ring, write.id, field, payload.text) };
    else write[field] = { ...payload, preview: sealText(ring, write.id, field, payload.preview) };
  }
  delete write.input_pairs;
  delete write.output_pairs;
}

function openText(ring: Ring, runId: string, field: string, text: string): string {
  if (field === "extra" && isList(text))
    return joinExtras(text, (sealed) => ring.open(sealed, fieldContext(runId, field)));
  const held = text.startsWith(JSON_MARK) ? (JSON.parse(text) as string) : text;
  const open = ring.open(held, fieldContext(runId, field));
  return open === held ? text : open;
}

/** The calls of a partition of this workspace, with runs and feedback as they were sent. */
export function openIfSealed(env: Env, workspaceId: string, calls: TracePartitionRpc): TracePartitionRpc {
  const use = <T>(read: (ring: Ring) => T) => withRing(env, workspaceId, read);
  const feedbackIn = async (feedback: StoredFeedback) => use((ring) => sealFeedback(ring, feedback));
  const feedbackOut = async (all: StoredFeedback[]) =>
    all.some(isSealedFeedback) ? use((ring) => all.map((one) => openFeedback(ring, one))) : all;
  const own: Partial<TracePartitionRpc> = {
    async query(request) {
      const { runs, ...rest } = await calls.query(request);
      return {
        ...rest,
        runs: runs.some(isSealedRun) ? await use((ring) => runs.map((run) => openRun(ring, run))) : runs,
      };
    },
    async threads(selection) {
      // Previews are cut, and a cut text cannot be opened.
      const shown = (text: string | null) => (text !== null && isSealedJson(text) ? null : text);
      return (await calls.threads(selection)).map((one) => ({
        ...one,
        first_inputs: shown(one.first_inputs),
        last_outputs: shown(one.last_outputs),
        last_error: shown(one.last_error),
      }));
    },
    async readPage(request) {
      const ring = await use((ring) => ring);
      const page = await calls.readPage(ring.isOn ? withIds(request) : request);
      return page && ring.isOn ? use((ring) => openPage(ring, page)) : page;
    },
    async putFeedback(identity, feedback, asRead) {
      const stored = await calls.putFeedback(identity, await feedbackIn(feedback), asRead);
      return stored && (await feedbackOut([stored]))[0];
    },
    takeFeedback: async (identity, feedback) => calls.takeFeedback(identity, await feedbackIn(feedback)),
    getFeedback: async (ids) => feedbackOut(await calls.getFeedback(ids)),
  };
  return new Proxy(calls, {
    get: (target, name) => Reflect.get(own, name) ?? Reflect.get(target, name),
  });
}

const isSealedRun = (run: QueriedRun) =>
  hasSealed(run.feedback_stats) ||
  isList(run.extra ?? "") ||
  LARGE_FIELDS.some((field) => isSealedJson(run[field] ?? "") || isSealedJson(run.previews?.[field] ?? ""));

/** Decrypts a run. If its key is destroyed, the payloads are absent and the error says so. */
function openRun(ring: Ring, run: QueriedRun): QueriedRun {
  const payloads = openOr(() => openPayloads(ring, run), UNREADABLE);
  return { ...run, feedback_stats: withoutSealed(run.feedback_stats), ...payloads };
}

function openPayloads(ring: Ring, run: QueriedRun): Partial<QueriedRun> {
  const open = (texts: [string, string | null | undefined][]) =>
    Object.fromEntries(texts.map(([field, text]) => [field, text && openText(ring, run.id, field, text)]));
  const { previews } = run;
  return {
    ...open(LARGE_FIELDS.map((field) => [field, run[field]])),
    ...(previews && { previews: open(Object.entries(previews)) }),
  };
}

const hasSealed = (stats: string | null): stats is string => stats?.includes(JSON_MARK) === true;

/** Statistics of feedback have the beginnings of comments. */
function withoutSealed(stats: string | null): string | null {
  if (!hasSealed(stats)) return stats;
  const keys = Object.entries(JSON.parse(stats) as Record<string, { comments?: unknown[] }>);
  const shown = keys.map(([key, one]) => [key, { ...one, comments: one.comments?.filter((text) => !isSealed(text)) }]);
  return JSON.stringify(Object.fromEntries(shown));
}

/** The members of a feedback that are sealed. Its key, score and value are what statistics are made of. */
const SEALED_FEEDBACK = ["comment", "correction", "extra"] as const;

function sealFeedback(ring: Ring, feedback: StoredFeedback): StoredFeedback {
  if (!ring.isOn) return feedback;
  const sealed = SEALED_FEEDBACK.map((name) => {
    const value = feedback[name] ?? null;
    return [name, value === null ? null : ring.seal(JSON.stringify(value), ["feedback", feedback.id, name])];
  });
  return { ...feedback, ...Object.fromEntries(sealed) };
}

const isSealedFeedback = (feedback: StoredFeedback) => SEALED_FEEDBACK.some((name) => isSealed(feedback[name]));

/** The feedback as it was given. What a destroyed key has sealed is null. */
function openFeedback(ring: Ring, feedback: StoredFeedback): StoredFeedback {
  const open = SEALED_FEEDBACK.map((name) => {
    const held = feedback[name];
    if (!isSealed(held)) return [name, held];
    const text = openOr(() => ring.open(held, ["feedback", feedback.id, name]), null);
    return [name, text === null || text === held ? text : (JSON.parse(text) as unknown)];
  });
  return { ...feedback, ...Object.fromEntries(open) };
}

/** A sealed payload is bound to the id of its run. */
const withIds = (request: PageRequest): PageRequest =>
  request.fields.includes("id") ? request : { ...request, fields: [...request.fields, "id"] };

const decoder = new TextDecoder();

function openPage(ring: Ring, page: RunPage): RunPage {
  const ids = [...readTexts(page.unique.id as Texts)].map((id) => decoder.decode(id ?? new Uint8Array()));
  const payloads = { ...page.payloads };
  for (const field of PAYLOAD_FIELDS) {
    const texts = payloads[field];
    if (texts)
      payloads[field] = openTexts(texts, field, (text, row) =>
        openOr(() => openText(ring, ids[row] ?? "", field, text), null),
      );
  }
  const light = { ...page.light };
  if (light.feedback_stats) {
    const stats = JSON.parse(light.feedback_stats) as (string | null)[];
    light.feedback_stats = JSON.stringify(stats.map(withoutSealed));
  }
  if (light.feedbacks) {
    const all = JSON.parse(light.feedbacks) as (string | null)[];
    light.feedbacks = JSON.stringify(all.map((text) => text && openFeedbacks(ring, text)));
  }
  return { ...page, payloads, light };
}

function openFeedbacks(ring: Ring, text: string): string {
  const all = parseJson(text);
  if (!Array.isArray(all)) return text;
  const open = all.map((one: unknown) => (isObject(one) ? openFeedback(ring, one as unknown as StoredFeedback) : one));
  return JSON.stringify(open);
}

function openTexts(texts: Texts, field: string, open: (text: string, row: number) => string | null): Texts {
  const builder = new TextsBuilder();
  let row = 0;
  for (const bytes of readTexts(texts)) {
    const isHeld =
      bytes !== null &&
      (bytes[0] === 2 || (bytes[0] === 34 && bytes[1] === 92) || (field === "extra" && bytes[0] === 91));
    const text = isHeld ? open(decoder.decode(bytes), row) : undefined;
    if (text === undefined) builder.add(bytes, false);
    else builder.add(text === null ? null : Buffer.from(text), false);
    row += 1;
  }
  return builder.build();
}
