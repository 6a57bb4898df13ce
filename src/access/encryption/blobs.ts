/** The bucket of payloads and attachments. The second part of a key is its workspace, which may encrypt its objects. */
import { type KeySource, loadRing, withRing } from "./keys.ts";
import { openOr } from "./ring.ts";

/** The id of an object's key is in its metadata. */
const KEY_ID = "weir-key";

/** An object that is read. */
export interface StoredBlob {
  size: number;
  httpMetadata?: R2HTTPMetadata;
  body: ReadableStream<Uint8Array>;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export interface SealedBlobs {
  /** Null for an object that does not exist, or whose key is destroyed. */
  get(key: string): Promise<StoredBlob | null>;
  put(key: string, data: Uint8Array | ReadableStream, options?: { httpMetadata?: R2HTTPMetadata }): Promise<unknown>;
  head(key: string): Promise<unknown>;
}

const blobContext = (key: string) => ["object", key];
const workspaceInKey = (key: string) => key.split("/")[1] ?? "";

export function openSealedBlobs(env: KeySource & Pick<Env, "BLOBS">): SealedBlobs {
  return {
    async get(key) {
      const object = await env.BLOBS.get(key);
      const keyId = object?.customMetadata?.[KEY_ID];
      if (!object || keyId === undefined) return object;
      const sealed = new Uint8Array(await object.arrayBuffer());
      const bytes = await withRing(env, workspaceInKey(key), (ring) =>
        openOr(() => ring.openBytes(keyId, sealed, blobContext(key)), null),
      );
      return bytes && openedBlob(Uint8Array.from(bytes), object.httpMetadata);
    },
    async put(key, data, options = {}) {
      const ring = await loadRing(env, workspaceInKey(key));
      if (!ring.isOn) return env.BLOBS.put(key, data, options);
      const plain = data instanceof Uint8Array ? data : new Uint8Array(await new Response(data).arrayBuffer());
      const { keyId, bytes } = ring.sealBytes(plain, blobContext(key));
      return env.BLOBS.put(key, bytes, { ...options, customMetadata: { [KEY_ID]: keyId } });
    },
    head: async (key) => env.BLOBS.head(key),
  };
}

function openedBlob(bytes: Uint8Array<ArrayBuffer>, httpMetadata?: R2HTTPMetadata): StoredBlob {
  const answer = () => new Response(bytes);
  return {
    size: bytes.byteLength,
    httpMetadata,
    get body() {
      return answer().body as ReadableStream<Uint8Array>;
    },
    text: async () => answer().text(),
    arrayBuffer: async () => answer().arrayBuffer(),
  };
}
