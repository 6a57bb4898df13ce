/** A2A's nouns, in neither generation's spelling: dialect.ts writes them in either. */
import { type Json, isObject } from "../../lib/json.ts";

/** 0.3 answers to `message/send`, 1.0 to `SendMessage`: the method's name selects the generation. */
export type A2aGeneration = "0.3" | "1.0";

export const STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
] as const;
export type TaskState = (typeof STATES)[number];

const TERMINAL: readonly TaskState[] = ["completed", "canceled", "failed", "rejected"];
export const isTerminal = (state: TaskState): boolean => TERMINAL.includes(state);
/** No more updates follow: the task has ended, or it waits for the caller. */
export const isSettled = (state: TaskState): boolean =>
  isTerminal(state) || state === "input-required" || state === "auth-required";

/** One of `text`, `raw` (base64), `url`, `data`. */
export interface A2aPart {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  filename?: string;
  mediaType?: string;
  metadata?: Json;
}

export interface A2aMessage {
  messageId: string;
  role: "user" | "agent";
  parts: A2aPart[];
  contextId?: string;
  taskId?: string;
  referenceTaskIds?: string[];
  extensions?: string[];
  metadata?: Json;
}

export interface A2aArtifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: A2aPart[];
  metadata?: Json;
  extensions?: string[];
}

export interface TaskStatus {
  state: TaskState;
  message?: A2aMessage;
  /** ISO 8601, UTC, with "Z". */
  timestamp: string;
}

export interface A2aTask {
  id: string;
  contextId: string;
  status: TaskStatus;
  artifacts: A2aArtifact[];
  history: A2aMessage[];
}

export type TaskUpdate =
  | { kind: "status"; status: TaskStatus; metadata?: Json }
  | { kind: "artifact"; artifact: A2aArtifact; append: boolean; lastChunk: boolean }
  | { kind: "message"; message: A2aMessage };

/** Where to send a task's changes, and with what credentials. */
export interface PushConfig {
  id?: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}

// A2A parts to a LangChain message's content, and back.

type Block = Json & { type: string };

/** The type of a content block with a file, by the file's media type. */
function blockType(mediaType = ""): string {
  const [kind = ""] = mediaType.split("/");
  return ["image", "audio", "video"].includes(kind) ? kind : "file";
}

function block(part: A2aPart): Block {
  const { text, raw, url, data, filename, mediaType } = part;
  if (text !== undefined) return { type: "text", text };
  if (raw === undefined && url === undefined) return { type: "text", text: JSON.stringify(data) };
  const file = raw === undefined ? { url } : { data: raw };
  return {
    type: blockType(mediaType),
    ...file,
    ...(mediaType && { mimeType: mediaType }),
    ...(filename && { metadata: { filename } }),
  };
}

/** The content of a human message: plain text when that is all there is, else standard content blocks. Data reads as JSON. */
export function toMessageContent(parts: A2aPart[]): string | Block[] {
  const [only] = parts;
  return parts.length === 1 && only?.text !== undefined ? only.text : parts.map(block);
}

/** The members of data parts, which become values of the graph's state; `messages` stays the conversation's. */
export function toState(parts: A2aPart[]): Json {
  const objects = parts.map(({ data }) => data).filter((data) => isObject(data));
  const members = objects.flatMap((data) => Object.entries(data)).filter(([name]) => name !== "messages");
  return Object.fromEntries(members);
}

export const joinText = (parts: A2aPart[]): string => parts.flatMap(({ text }) => text ?? []).join("\n");

/** The part that a content block of a message amounts to; undefined for reasoning, tool calls and what is not known. */
export function toPart(given: Json): A2aPart | undefined {
  const { type } = given;
  if (type === "text" || type === "text-plain")
    return readString(given.text) ? { text: String(given.text) } : undefined;
  if (type === "image_url") {
    const target = isObject(given.image_url) ? given.image_url.url : given.image_url;
    return typeof target === "string" ? toFilePart(target, {}) : undefined;
  }
  if (type !== "file" && type !== "image" && type !== "audio" && type !== "video") return undefined;
  const named = isObject(given.metadata) ? given.metadata : {};
  const filename = readString(given.filename) ?? readString(named.filename) ?? readString(named.name);
  const mediaType = readString(given.mimeType) ?? readString(given.mime_type) ?? readString(given.media_type);
  const source = readString(given.url) ?? readString(given.data);
  return source === undefined ? undefined : toFilePart(source, { filename, mediaType }, given.url === undefined);
}

function toFilePart(source: string, names: Pick<A2aPart, "filename" | "mediaType">, base64 = false): A2aPart {
  const data = /^data:([^;,]*);base64,(.*)$/s.exec(source);
  const { filename } = names;
  const mediaType = names.mediaType ?? data?.[1];
  const where = data ? { raw: data[2] } : base64 ? { raw: source } : { url: source };
  return { ...where, ...(filename && { filename }), ...(mediaType && { mediaType }) };
}

const readString = (value: unknown): string | undefined => (typeof value === "string" && value ? value : undefined);
