/** Requests that are answered before their body is read to its end. */
const MEGABYTE = 1024 * 1024;

interface Early {
  path: string;
  headers: Record<string, string>;
  /** Megabytes of the letter x. */
  size: number;
  /** Sent without a Content-Length. */
  chunked?: boolean;
  status: number;
}

const JSON_BODY = { "content-type": "application/json" };
const MULTIPART = { "content-type": "multipart/form-data; boundary=b" };

export const EARLY: Record<string, Early> = {
  "a batch that is not gzip": { path: "/runs/batch", headers: createEncodedHeaders("gzip"), size: 0.4, status: 400 },
  "a large batch that is not gzip": {
    path: "/runs/batch",
    headers: createEncodedHeaders("gzip"),
    size: 3,
    status: 400,
  },
  "a batch that is not zstd": { path: "/runs/batch", headers: createEncodedHeaders("zstd"), size: 0.4, status: 400 },
  "parts that are not gzip": {
    path: "/runs/multipart",
    headers: createEncodedHeaders("gzip", MULTIPART),
    size: 0.4,
    status: 400,
  },
  "an unknown encoding": { path: "/runs/batch", headers: createEncodedHeaders("br"), size: 3, status: 415 },
  "parts past the limit": { path: "/runs/multipart", headers: MULTIPART, size: 42, chunked: true, status: 413 },
  "a batch past the limit": { path: "/runs/batch", headers: JSON_BODY, size: 22, chunked: true, status: 413 },
  "a thread past the limit": { path: "/threads", headers: JSON_BODY, size: 22, chunked: true, status: 413 },
  "a repeatable request past the limit": {
    path: "/threads",
    headers: { ...JSON_BODY, "idempotency-key": "early" },
    size: 22,
    chunked: true,
    status: 413,
  },
  "a registration past the limit": {
    path: "/oauth/register",
    headers: JSON_BODY,
    size: 22,
    chunked: true,
    status: 413,
  },
};

function createEncodedHeaders(encoding: string, type: Record<string, string> = JSON_BODY): Record<string, string> {
  return { ...type, "content-encoding": encoding };
}

/** Sends the request again and again, 12 at once and returns how often each answer came. */
export async function sendEarly(
  url: string,
  auth: Record<string, string>,
  { path, headers, size, chunked }: Early,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let left = Math.min(60, Math.max(12, Math.ceil(120 / size)));
  const sendOnes = async () => {
    while (left-- > 0) {
      const body = chunked ? streamMegabytes(size) : "x".repeat(size * MEGABYTE);
      const init = { method: "POST", headers: { ...headers, ...auth }, body, duplex: "half" } as RequestInit;
      const outcome = await fetch(url + path, init).then(
        async (response) => (await response.text(), String(response.status)),
        (error: Error) => `broken: ${String(error.cause)}`,
      );
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 12 }, sendOnes));
  return outcomes;
}

function streamMegabytes(megabytes: number): ReadableStream<Uint8Array> {
  let left = megabytes;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(MEGABYTE).fill(120));
      else controller.close();
    },
  });
}
