/** Files that a message may carry, read for the request. */
import type { Assistant } from "../../api/types.ts";
import type { Media } from "../turn/media.ts";

type Kind = "image" | "pdf" | "audio";

export interface Accepts {
  /** For the file picker: "image/*,application/pdf". */
  list: string;
  /** "images and PDF files" */
  words: string;
}

const TYPES: Record<Kind, string> = { image: "image/*", pdf: "application/pdf", audio: "audio/*" };
const WORDS: Record<Kind, string> = { image: "images", pdf: "PDF files", audio: "audio" };

/** Bytes of all files of a message: a request has at most 8 MiB, and base64 makes 4 characters of 3 bytes. */
const MOST = 5_000_000;

/** Media that the assistant takes: `metadata.accepts`, a list of "image", "pdf" and "audio". Images and PDF files without it. */
export function acceptedBy(assistant: Assistant): Accepts {
  const said = assistant.metadata?.accepts;
  const kinds = (["image", "pdf", "audio"] as const).filter((kind) =>
    Array.isArray(said) ? said.includes(kind) : kind !== "audio",
  );
  const words = kinds.map((kind) => WORDS[kind]);
  return {
    list: kinds.map((kind) => TYPES[kind]).join(","),
    words: words.length === 0 ? "files" : words.join(", ").replace(/, ([^,]*)$/, " and $1"),
  };
}

/** Reads what is taken, and says in a sentence what is not. */
export async function readFiles(
  files: File[],
  accepts: Accepts,
  before: Media[],
): Promise<{ media: Media[]; refused: string }> {
  const fits = (file: File) =>
    accepts.list
      .split(",")
      .some((type) => (type.endsWith("*") ? file.type.startsWith(type.slice(0, -1)) : file.type === type));
  const wrong = files.find((file) => !fits(file));
  const right = files.filter(fits);
  const size = right.reduce((sum, file) => sum + file.size, 0) + before.reduce((sum, one) => sum + countBytes(one), 0);
  if (size > MOST) return { media: [], refused: "Not attached. The files of a message may have 5 MB together." };
  const media = await Promise.all(right.map(readFile)).catch(() => undefined);
  if (!media) return { media: [], refused: "Not attached. The browser cannot read the file. Choose it again." };
  return { media, refused: wrong ? `“${wrong.name}” is not attached. This assistant takes ${accepts.words}.` : "" };
}

const countBytes = ({ url = "" }: Media) => (url.length * 3) / 4;

const detectKind = (type: string): Media["kind"] =>
  type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : "file";

async function readFile(file: File): Promise<Media> {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    reader.addEventListener("load", resolve);
    reader.addEventListener("error", () => reject(new Error("The file cannot be read.")));
    reader.readAsDataURL(file);
  });
  const url = typeof reader.result === "string" ? reader.result : "";
  return { kind: detectKind(file.type), url, name: file.name, mime: file.type };
}
