/** Semantic search is on when the deployment has embeddings. */
import { custom } from "../users/registry.ts";
import type { Embed } from "./vectors.ts";

/** Texts to vectors, with the Worker's variables and bindings at hand. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/** The deployment's embeddings; undefined where it has none, and the Store is searched by words. */
export function embeddingsOf(env: Env): Embed | undefined {
  const { embeddings } = custom;
  return embeddings && ((texts) => embeddings(texts, env));
}
