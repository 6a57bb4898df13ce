/** Semantic search is on when the registry of graphs exports `embeddings`. */
import * as registry from "../graphs/index.ts";
import type { Embed } from "./vectors.ts";

/** `export const embeddings` beside the graphs: texts to vectors, with the Worker's variables and bindings at hand. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/** The deployment's embeddings; undefined where it has none, and the Store is searched by words. */
export function embeddingsOf(env: Env): Embed | undefined {
  const { embeddings } = registry as { embeddings?: Embeddings };
  return embeddings && ((texts) => embeddings(texts, env));
}
