/** An S3 store in memory that obeys R2's rules for parts and answers what a fault list says. */

export type Fault =
  | { kind: "status"; status: number; code: string }
  /** The request is carried out, the answer is lost. */
  | { kind: "lost" }
  /** The request never arrives. */
  | { kind: "reset" }
  /** 200 with an error in the body, as CompleteMultipartUpload can answer. */
  | { kind: "late-error" }
  /** The store says that it did it, and did nothing. */
  | { kind: "lie" };

export class FakeS3 {
  readonly objects = new Map<string, Uint8Array>();
  readonly uploads = new Map<string, { key: string; parts: Map<number, Uint8Array> }>();
  readonly requests: { method: string; key: string; query: string; headers: Headers }[] = [];
  private nextUpload = 1;

  /** `fault` is called before each request. */
  constructor(private readonly fault: (request: Request) => Fault | undefined = () => undefined) {}

  fetch = async (request: Request): Promise<Response> => {
    const fault = this.fault(request);
    if (fault?.kind === "reset") throw new TypeError("Network connection lost.");
    if (fault?.kind === "status") return answer(fault.status, errorXml(fault.code));
    if (fault?.kind === "late-error") return answer(200, errorXml("InternalError"));
    if (fault?.kind === "lie") return answer(200, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>");
    const response = await this.handle(request);
    if (fault?.kind === "lost") throw new TypeError("Network connection lost.");
    return response;
  };

  text(key: string): string | undefined {
    const bytes = this.objects.get(key);
    return bytes && new TextDecoder().decode(bytes);
  }

  private async handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const key = decodeURIComponent(url.pathname.split("/").slice(2).join("/"));
    const body = new Uint8Array(await request.arrayBuffer());
    this.requests.push({ method: request.method, key, query: url.search, headers: request.headers });
    if (!request.headers.get("authorization")?.startsWith("AWS4-HMAC-SHA256 ")) {
      return answer(403, errorXml("AccessDenied"));
    }
    const uploadId = url.searchParams.get("uploadId");
    if (uploadId !== null) return this.handleUpload(request.method, url, uploadId, body);
    if (request.method === "POST") {
      const id = `upload-${this.nextUpload++}`;
      this.uploads.set(id, { key, parts: new Map() });
      return answer(200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (request.method === "HEAD") return this.head(key);
    if (request.method === "GET" && url.searchParams.has("uploads")) return this.list(url.searchParams.get("prefix"));
    if (request.method === "PUT") this.objects.set(key, body);
    if (request.method === "DELETE") this.objects.delete(key);
    return answer(request.method === "DELETE" ? 204 : 200, "");
  }

  private list(prefix: string | null): Response {
    const uploads = [...this.uploads]
      .filter(([, { key }]) => key.startsWith(prefix ?? ""))
      .map(([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
    return answer(200, `<ListMultipartUploadsResult>${uploads.join("")}</ListMultipartUploadsResult>`);
  }

  private head(key: string): Response {
    const size = this.objects.get(key)?.byteLength;
    return new Response(null, size === undefined ? { status: 404 } : { headers: { "content-length": String(size) } });
  }

  private handleUpload(method: string, url: URL, id: string, body: Uint8Array): Response {
    const upload = this.uploads.get(id);
    if (!upload) return answer(404, errorXml("NoSuchUpload"));
    if (method === "PUT") {
      const number = Number(url.searchParams.get("partNumber"));
      upload.parts.set(number, body);
      return answer(200, "", { etag: `"part-${number}"` });
    }
    this.uploads.delete(id);
    if (method === "DELETE") return answer(204, "");
    const numbers = [...new TextDecoder().decode(body).matchAll(/<PartNumber>(\d+)</g)].map((match) =>
      Number(match[1]),
    );
    const parts = numbers.map((number) => upload.parts.get(number) ?? new Uint8Array());
    const size = parts[0]?.length ?? 0;
    const equal = parts.every((part, index) => (index < parts.length - 1 ? part.length === size : part.length <= size));
    if (!equal) return answer(400, errorXml("InvalidPart"));
    this.objects.set(upload.key, new Uint8Array(Buffer.concat(parts)));
    return answer(200, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>");
  }
}

export function errorXml(code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>The store says ${code}.</Message></Error>`;
}

function answer(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(status === 204 ? null : body, { status, headers });
}
