/** A dataset as a file: what a line is in each format. */
import { isObject, parseExact } from "../../../lib/json.ts";
import { type ConversationMessage, messagesIn } from "../../query/messages.ts";
import { csvLine } from "./upload.ts";
import { database } from "../../../db/client.ts";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey } from "../examples/bodies.ts";
import { type ExampleRow, listExamples } from "../examples/store.ts";
import type { DatasetRow } from "../datasets/store.ts";

/** An example with its bodies. */
export interface WholeExample {
  id: string;
  name: string | null;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown> | null;
  metadata: Record<string, unknown>;
}

/** Messages in OpenAI's form, by the type that LangChain gives them. */
const ROLES: Record<string, string> = {
  human: "user",
  ai: "assistant",
  aimessagechunk: "assistant",
  chat: "user",
  function: "tool",
};

/** One line of JSON an example, which an upload takes again. */
export function jsonLine({ id, name, inputs, outputs, metadata }: WholeExample): string {
  return line({ id, ...(name !== null && { name }), inputs, outputs, metadata });
}

/** One line of JSON: OpenAI's evals read `input` and `ideal`. */
export function evalLine(example: WholeExample): string {
  return line({ input: conversation(example.inputs, "user"), ideal: textOfOutputs(example.outputs) });
}

/** One line of JSON: OpenAI's fine-tuning reads one conversation a line. */
export function tuningLine({ inputs, outputs }: WholeExample): string {
  const messages = [...conversation(inputs, "user"), ...(outputs ? conversation(outputs, "assistant") : [])];
  const tools = inputs["tools"] ?? inputs["functions"];
  return line({ messages, ...(Array.isArray(tools) && { tools }) });
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** The messages of a body; one of the role with its text when it is no conversation, and none for an empty body. */
function conversation(body: Record<string, unknown>, role: string): object[] {
  const messages = messagesIn(conversationIn(body));
  if (messages.length > 0) return messages.map(openAiMessage);
  if (Object.keys(body).length === 0) return [];
  return [{ role, content: bodyText(body) }];
}

/** The SDKs keep a list of messages as `input`, and one message as `output`. */
function conversationIn(body: Record<string, unknown>): Record<string, unknown> {
  const { input, output } = body;
  if (Array.isArray(input)) return { messages: input.map(storedMessage) };
  if (isObject(output)) return { messages: [storedMessage(output)] };
  return body;
}

/** `createChatExample` stores messages as `{type, data}`. */
function storedMessage(message: unknown): unknown {
  if (!isObject(message) || !isObject(message["data"])) return message;
  return { type: message["type"], ...message["data"] };
}

function openAiMessage({ role, type, content, name, tool_calls, tool_call_id, ...rest }: ConversationMessage): object {
  const kind = typeof role === "string" ? role : typeof type === "string" ? type : "user";
  const extra = isObject(rest["additional_kwargs"]) ? rest["additional_kwargs"] : {};
  const calls = openAiCalls(extra["tool_calls"] ?? tool_calls);
  return {
    role: ROLES[kind.toLowerCase()] ?? kind,
    content: content ?? null,
    ...(typeof name === "string" && { name }),
    ...(calls && { tool_calls: calls }),
    ...(typeof tool_call_id === "string" && { tool_call_id }),
    ...(isObject(extra["function_call"]) && { function_call: extra["function_call"] }),
  };
}

/** LangChain's calls of tools are `{id, name, args}`. */
function openAiCalls(calls: unknown): unknown[] | undefined {
  if (!Array.isArray(calls) || calls.length === 0) return undefined;
  return calls.map((call: unknown) => {
    if (!isObject(call) || call["function"] !== undefined) return call;
    const { id, name, args } = call;
    return { id, type: "function", function: { name, arguments: JSON.stringify(args ?? {}) } };
  });
}

function textOfOutputs(outputs: Record<string, unknown> | null): string {
  if (!outputs) return "";
  const last = messagesIn(conversationIn(outputs)).at(-1);
  const content = last?.["content"];
  return typeof content === "string" ? content : bodyText(outputs);
}

/** The one text of a body; else its JSON. */
function bodyText(body: Record<string, unknown>): string {
  const [value, ...others] = Object.values(body);
  return typeof value === "string" && others.length === 0 ? value : JSON.stringify(body);
}

/** The columns of CSV: the members that the examples have, with what they belong to. */
export class CsvColumns {
  readonly #names = { inputs: new Set<string>(), outputs: new Set<string>(), metadata: new Set<string>() };

  /** The most columns. A spreadsheet has 16,384. */
  static readonly MOST = 1_000;

  /** False when there are too many columns. */
  add(example: WholeExample): boolean {
    for (const part of PARTS) for (const key of Object.keys(example[part] ?? {})) this.#names[part].add(key);
    return this.#all().length <= CsvColumns.MOST;
  }

  header(): string {
    return csvLine(["id", ...this.#all().map(([part, key]) => `${part}.${key}`)]);
  }

  line(example: WholeExample): string {
    return csvLine([example.id, ...this.#all().map(([part, key]) => formatCell(example[part]?.[key]))]);
  }

  #all(): [(typeof PARTS)[number], string][] {
    return PARTS.flatMap((part) => [...this.#names[part]].map((key) => [part, key] as [typeof part, string]));
  }
}

const PARTS = ["inputs", "outputs", "metadata"] as const;

function formatCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Writes a dataset as a file, page by page: it may be larger than the memory.

const LINES = { jsonl: jsonLine, openai: evalLine, openai_ft: tuningLine };
export type DownloadFormat = keyof typeof LINES | "csv";

/** Rows of D1 read at once: at most 6.4 MB with bodies that are in the rows. */
const PAGE = 100;

interface Writer {
  header?: string;
  line: (example: WholeExample) => string;
}

/** How a version of the dataset is written in this format. @throws Problem 422 */
export async function createWriter(
  env: Env,
  dataset: DatasetRow,
  format: DownloadFormat,
  asOf: number,
): Promise<Writer> {
  if (format !== "csv") return { line: LINES[format] };
  const columns = await readColumns(env, dataset, asOf);
  return { header: columns.header(), line: (example) => columns.line(example) };
}

/** The bytes of the file. `asOf`: the version; changes after it do not appear. */
export async function* writeFile(
  env: Env,
  dataset: DatasetRow,
  { header, line }: Writer,
  asOf: number,
): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  if (header !== undefined) yield encoder.encode(header);
  for await (const example of readExamples(env, dataset, asOf)) yield encoder.encode(line(example));
}

/** The header comes before the rows, so CSV reads the examples twice. @throws Problem 422 */
async function readColumns(env: Env, dataset: DatasetRow, asOf: number): Promise<CsvColumns> {
  const columns = new CsvColumns();
  for await (const example of readExamples(env, dataset, asOf)) {
    if (columns.add(example)) continue;
    throw new Problem(422, `The examples have more than ${CsvColumns.MOST} members. Download them as jsonl.`);
  }
  return columns;
}

/** The examples of a version, newest first. */
async function* readExamples(env: Env, { workspaceId, id }: DatasetRow, asOf: number): AsyncGenerator<WholeExample> {
  let after: ExampleRow | undefined;
  for (;;) {
    const wanted = { dataset: id, asOf, limit: PAGE, offset: 0, ...(after && { after }) };
    const rows = await listExamples(database(env.DB), workspaceId, wanted);
    for (const row of rows) {
      const { id, name, metadata } = row;
      yield {
        id,
        name,
        metadata,
        inputs: (await readBody(env, row, "inputs")) ?? {},
        outputs: await readBody(env, row, "outputs"),
      };
    }
    after = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}

async function readBody(
  env: Env,
  row: ExampleRow,
  part: "inputs" | "outputs",
): Promise<Record<string, unknown> | null> {
  const hash = row[`${part}Hash`];
  const text = hash ? await (await openSealedBlobs(env).get(blobKey(row, hash)))?.text() : row[part];
  const body = text ? parseExact(text) : null;
  return isObject(body) ? body : null;
}
