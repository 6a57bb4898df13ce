/** Images, audio and files in messages: reads every dialect of content blocks, and writes the one that most models take. */

export interface Media {
  kind: "image" | "audio" | "file";
  /** A data or https address; undefined where the message only names an uploaded file. */
  url: string | undefined;
  name: string;
  mime: string;
}

type Block = Record<string, unknown>;
const KINDS: Record<string, Media["kind"]> = {
  image: "image",
  image_url: "image",
  input_image: "image",
  audio: "audio",
  input_audio: "audio",
  file: "file",
  input_file: "file",
  document: "file",
};
const MIMES = { image: "image/png", audio: "audio/wav", file: "application/pdf" };

const record = (value: unknown): Block => (typeof value === "object" && value !== null ? (value as Block) : {});
const first = (...values: unknown[]) => values.find((value): value is string => typeof value === "string");

/** The media of a message's content, in its order. */
export function listMedia(content: unknown): Media[] {
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).flatMap((part) => {
    const block = record(part);
    const kind = KINDS[typeof block.type === "string" ? block.type : ""];
    return kind ? [mediaIn(block, kind)] : [];
  });
}

/** LangChain's blocks of both ages, OpenAI's of both of its APIs, and Anthropic's. */
function mediaIn(block: Block, kind: Media["kind"]): Media {
  const inner = {
    ...record(block.source),
    ...record(block.image_url),
    ...record(block.input_audio),
    ...record(block.file),
  };
  const metadata = record(block.metadata);
  const format = first(inner.format);
  const mime =
    first(block.mimeType, block.mime_type, inner.media_type, inner.mimeType, inner.mime_type) ??
    (format === undefined ? MIMES[kind] : `audio/${format}`);
  const data = first(block.data, inner.data, block.base64, inner.base64, inner.file_data, block.file_data);
  const url = first(block.url, inner.url, block.image_url);
  const whole = data === undefined ? url : data.startsWith("data:") ? data : `data:${mime};base64,${data}`;
  const typed = /^data:([^;,]+)/.exec(whole ?? "")?.[1] ?? mime;
  const name = first(metadata.filename, metadata.name, inner.filename, block.filename, block.title) ?? kind;
  return { kind, url: whole, name, mime: typed };
}

/** A file as a block of a message. */
export function toBlock({ kind, url = "", name, mime }: Media): Block {
  if (kind === "image") return { type: "image_url", image_url: { url } };
  const data = url.slice(url.indexOf(",") + 1);
  return { type: kind, source_type: "base64", mime_type: mime, data, metadata: { filename: name } };
}

/** A message's content: text alone is a string, as every model takes it. */
export function buildContent(text: string, media: Block[]): unknown {
  if (media.length === 0) return text;
  return text === "" ? media : [{ type: "text", text }, ...media];
}

/** The same message with another text. */
export function withText(content: unknown, text: string): unknown {
  if (!Array.isArray(content)) return text;
  return buildContent(
    text,
    (content as unknown[]).map(record).filter((block) => block.type !== "text" && block.type !== undefined),
  );
}
