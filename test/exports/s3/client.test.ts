import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { S3Store } from "../../../src/exports/s3/client.ts";
import { StoreError } from "../../../src/exports/s3/errors.ts";
import { ObjectSink } from "../../../src/exports/s3/store.ts";
import { FakeS3, type Fault } from "../../support/fake-s3.ts";

const SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY";

function storeOn(s3: FakeS3, secretAccessKey = SECRET): S3Store {
  return new S3Store(
    {
      address: {
        bucket: "lake",
        region: "us-east-1",
        endpointUrl: "https://s3.example.com",
        addressingStyle: "path",
        bucketInUrl: true,
        accelerate: false,
      },
      credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey },
      objectHeaders: { "x-amz-server-side-encryption": "AES256" },
      requestHeaders: {},
    },
    { fetch: s3.fetch, now: () => 1_767_225_600_000, sleep: async () => undefined },
  );
}

/** Faults for the first requests, in order. */
function faults(...list: (Fault | undefined)[]): FakeS3 {
  return new FakeS3(() => list.shift());
}

async function catchRefusal(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
}

describe("the S3 client", () => {
  it("signs, encodes and checks what it sends", async () => {
    const s3 = new FakeS3();
    await storeOn(s3).put("p/export_id=1/a.txt", new TextEncoder().encode("hello"), "text/plain");
    expect(s3.text("p/export_id=1/a.txt")).toBe("hello");
    const headers = s3.requests[0]?.headers;
    expect(headers?.get("authorization")).toContain("Credential=AKIDEXAMPLE/20260101/us-east-1/s3/aws4_request");
    expect(headers?.get("authorization")).toContain("content-md5;");
    expect(headers?.get("content-md5")).toBe("XUFAKrxLKna5cZ2REBfFkg==");
    expect(headers?.get("x-amz-server-side-encryption")).toBe("AES256");
  });

  it.for<Fault>([
    { kind: "status", status: 500, code: "InternalError" },
    { kind: "status", status: 503, code: "SlowDown" },
    { kind: "status", status: 429, code: "TooManyRequests" },
    { kind: "status", status: 400, code: "RequestTimeout" },
    { kind: "status", status: 403, code: "RequestTimeTooSkewed" },
    { kind: "reset" },
    { kind: "lost" },
  ])("gets past one %o, and calls it no permanent error when it lasts", async (fault) => {
    const s3 = faults(fault);
    await storeOn(s3).put("a", new Uint8Array(3), "x/y");
    expect(s3.objects.get("a")).toHaveLength(3);
    const lasting = await catchRefusal(storeOn(new FakeS3(() => fault)).put("a", new Uint8Array(3), "x/y"));
    expect(lasting.permanent).toBe(false);
  });

  it.for<[number, string]>([
    [403, "AccessDenied"],
    [403, "InvalidAccessKeyId"],
    [403, "SignatureDoesNotMatch"],
    [401, "Unauthorized"],
    [400, "AuthorizationHeaderMalformed"],
    [400, "KMS.DisabledException"],
    [404, "NoSuchBucket"],
    [301, "PermanentRedirect"],
    [501, "NotImplemented"],
  ])("does not try again after %i %s, and gives the store's reason", async ([status, code]) => {
    let asked = 0;
    const s3 = new FakeS3(() => {
      asked++;
      return { kind: "status", status, code };
    });
    const refusal = await catchRefusal(storeOn(s3).put("a", new Uint8Array(3), "x/y"));
    expect(refusal).toMatchObject({ permanent: true, code, message: `${code}: The store says ${code}.` });
    expect(asked).toBe(1);
  });

  it("never repeats a credential that a store quotes", async () => {
    const answerQuoting = async () =>
      new Response(`<Error><Code>Odd</Code><Message>no ${SECRET} for AKIDEXAMPLE</Message></Error>`, { status: 400 });
    const s3 = Object.assign(new FakeS3(), { fetch: answerQuoting });
    expect((await catchRefusal(storeOn(s3).put("a", new Uint8Array(1), "x/y"))).message).toBe("Odd: no … for …");
  });

  it("never repeats a credential that XML writes with entities, or that ends past the cut", async () => {
    const secret = "a&b<c>'d'".repeat(4);
    const xml = secret
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll("'", "&apos;");
    const message = `${"x".repeat(290)}${xml}`;
    const answerQuoting = async () =>
      new Response(`<Error><Code>Odd</Code><Message>${message}</Message></Error>`, { status: 400 });
    const s3 = Object.assign(new FakeS3(), { fetch: answerQuoting });
    const refusal = await catchRefusal(storeOn(s3, secret).put("a", new Uint8Array(1), "x/y"));
    expect(refusal.message).toBe(`Odd: ${"x".repeat(290)}…`);
  });
});

describe("confirm", () => {
  const storeText = async (fault?: Fault) => {
    const list = [undefined, fault];
    const store = storeOn(new FakeS3(() => list.shift()));
    await store.put("a.txt", new TextEncoder().encode("hello"), "text/plain");
    return store;
  };

  it("passes for an object of the right size, and where the credentials may not read", async () => {
    await expect((await storeText()).confirm("a.txt", 5)).resolves.toBeUndefined();
    const forbidden = await storeText({ kind: "status", status: 403, code: "AccessDenied" });
    await expect(forbidden.confirm("a.txt", 9)).resolves.toBeUndefined();
  });

  it("throws for one that is missing or has another size, so that it is retried", async () => {
    const store = await storeText();
    for (const refusal of [store.confirm("b.txt", 5), store.confirm("a.txt", 6)]) {
      expect(await catchRefusal(refusal)).toMatchObject({ code: "NotStored", permanent: false });
    }
  });
});

describe("a sink", () => {
  const PART = 1000;
  const noEvents = {
    uploadDue: async () => undefined,
    uploadCreated: async () => undefined,
    partUploaded: async () => undefined,
  };

  async function write(s3: FakeS3, sizes: number[]) {
    const sink = new ObjectSink(storeOn(s3), { key: "f.parquet", contentType: "x/y", partBytes: PART }, noEvents);
    let next = 0;
    for (const size of sizes) {
      sink.appendBytes(Uint8Array.from({ length: size }, () => next++ % 251));
      await sink.flush();
    }
    await sink.finish();
    return sink;
  }

  it("puts a small object at once and a large one in equal parts, seen only when complete", async () => {
    for (const sizes of [[10], [PART], [PART + 1], [400, 900, 3000, 5], [PART, PART, PART]]) {
      const s3 = new FakeS3();
      const sink = await write(s3, sizes);
      expect(s3.objects.size).toBe(0);
      await sink.complete();
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const bytes = s3.objects.get("f.parquet") as Uint8Array;
      expect(bytes).toEqual(Uint8Array.from({ length: total }, (_, index) => index % 251));
      expect(sink.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
      expect(s3.requests.length).toBe(total <= PART ? 1 : 2 + Math.ceil(total / PART));
    }
  });

  it("lists the open uploads of a key, and none of another key", async () => {
    let lost = 1;
    const s3 = new FakeS3(({ url }) => (url.includes("uploads=") && lost-- > 0 ? { kind: "lost" } : undefined));
    const sink = await write(s3, [PART * 3]);
    const store = storeOn(s3);
    const other = await store.createUpload("f.parquet.other", "x/y");
    expect(s3.uploads.size).toBe(3);
    await sink.complete();
    const open = await store.openUploads("f.parquet");
    expect([...open, other].toSorted()).toEqual([...s3.uploads.keys()].toSorted());
    expect(open).toHaveLength(1);
  });

  it("passes where the uploads of a key cannot be listed", async () => {
    const s3 = new FakeS3(() => ({ kind: "status", status: 403, code: "AccessDenied" }));
    expect(await storeOn(s3).openUploads("f.parquet")).toEqual([]);
  });

  it("takes the id of an upload whole", async () => {
    const id = "a".repeat(400);
    const s3 = new FakeS3();
    s3.fetch = async () => new Response(`<R><UploadId>${id}</UploadId></R>`);
    expect(await storeOn(s3).createUpload("f.parquet", "x/y")).toBe(id);
  });

  it("leaves nothing behind when it is given up", async () => {
    const s3 = new FakeS3();
    const sink = await write(s3, [PART * 3]);
    await sink.abort();
    expect([s3.objects.size, s3.uploads.size]).toEqual([0, 0]);
  });

  it("takes an error in a 200 answer for what it is, and tries again", async () => {
    let failures = 1;
    const s3 = new FakeS3((request) =>
      request.method === "POST" && request.url.includes("uploadId") && failures-- > 0
        ? { kind: "late-error" }
        : undefined,
    );
    const sink = await write(s3, [PART * 3]);
    await sink.complete();
    expect(s3.objects.get("f.parquet")).toHaveLength(PART * 3);
  });

  it("does so for every kind of request", async () => {
    let failures = 1;
    const s3 = new FakeS3(() => (failures-- > 0 ? { kind: "late-error" } : undefined));
    await (await write(s3, [10])).complete();
    expect(s3.objects.get("f.parquet")).toHaveLength(10);
  });

  it("starts a new upload when the answer to the completion was lost", async () => {
    let failures = 1;
    const s3 = new FakeS3((request) =>
      request.method === "POST" && request.url.includes("uploadId") && failures-- > 0 ? { kind: "lost" } : undefined,
    );
    const sink = await write(s3, [PART * 3]);
    expect(await catchRefusal(sink.complete())).toMatchObject({ code: "NoSuchUpload", permanent: false });
  });
});
