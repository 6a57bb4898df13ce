/** Semantic search is on when the deployment has embeddings. */
import { Lazy } from "../lazy.ts";
import { custom } from "../users/registry.ts";
import type { Embed } from "./vectors.ts";

/** Texts to vectors, with the Worker's variables and bindings at hand. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/** An embeddings class of LangChain's, as far as the server uses it. */
export interface Embedder {
  embedDocuments(texts: string[]): Promise<number[][]>;
}

/** Classes of packages that have several, by the provider's name in `store.index.embed`. */
const CLASSES: Record<string, string> = { openai: "OpenAIEmbeddings", azure_openai: "AzureOpenAIEmbeddings" };

/**
 * The embeddings of a provider's package: `model` is `<provider>:<model>`, as `store.index.embed` has it. Loaded and made by
 * the first call. Throws when the package has no embeddings.
 */
export function embeddingsFrom(model: string, load: () => Promise<Record<string, unknown>>): Embeddings {
  const at = model.indexOf(":");
  const [provider, name] = [model.slice(0, at), model.slice(at + 1)];
  let made: Embedder | undefined;
  return async (texts) => {
    if (!made) {
      const module = await load();
      const known = CLASSES[provider] ?? Object.keys(module).find((key) => key.endsWith("Embeddings"));
      const Class =
        known === undefined ? undefined : (module[known] as (new (options: object) => Embedder) | undefined);
      if (!Class) throw new Error(`The package of "${provider}" has no embeddings.`);
      made = new Class({ model: name });
    }
    return made.embedDocuments(texts);
  };
}

/** What the project exports: a function of texts, or an embeddings object. */
async function ownEmbeddings(lazy: Lazy<Embeddings | Embedder>, texts: string[], env: Env): Promise<number[][]> {
  const own = await lazy.get();
  return typeof own === "function" ? own(texts, env) : own.embedDocuments(texts);
}

/** The deployment's embeddings; undefined where it has none, and the Store is searched by words. */
export function embeddingsOf(env: Env): Embed | undefined {
  const { embeddings } = custom;
  if (embeddings instanceof Lazy) return (texts) => ownEmbeddings(embeddings, texts, env);
  return embeddings && ((texts) => embeddings(texts, env));
}
