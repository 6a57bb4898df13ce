import { describe, expect, it } from "vitest";
import { type BucketAddress, bucketUrl, encodeKey, signingRegion } from "../../../src/exports/s3/client.ts";

const AWS: BucketAddress = {
  bucket: "lake",
  region: "eu-west-1",
  endpointUrl: null,
  addressingStyle: "auto",
  bucketInUrl: true,
  accelerate: false,
};

describe("a bucket's URL", () => {
  it.for<[Partial<BucketAddress>, string]>([
    [{}, "https://lake.s3.eu-west-1.amazonaws.com/"],
    [{ region: "cn-north-1" }, "https://lake.s3.cn-north-1.amazonaws.com.cn/"],
    [{ addressingStyle: "path" }, "https://s3.eu-west-1.amazonaws.com/lake/"],
    [{ bucket: "a.b.c" }, "https://s3.eu-west-1.amazonaws.com/a.b.c/"],
    [{ accelerate: true }, "https://lake.s3-accelerate.amazonaws.com/"],
    [{ endpointUrl: "https://minio.example.com:9000/" }, "https://minio.example.com:9000/lake/"],
    [{ endpointUrl: "https://ceph.example.com", addressingStyle: "virtual" }, "https://lake.ceph.example.com/"],
    [{ endpointUrl: "https://lake.r2.example.com", bucketInUrl: false }, "https://lake.r2.example.com/"],
    [{ endpointUrl: "http://localhost:1/cdn/s3" }, "http://localhost:1/cdn/s3/lake/"],
  ])("%o is %s", ([change, url]) => {
    expect(bucketUrl({ ...AWS, ...change })).toBe(url);
  });

  it("is signed for the region, R2's being auto", () => {
    expect(signingRegion(AWS)).toBe("eu-west-1");
    const endpointUrl = "https://acc.r2.cloudflarestorage.com";
    expect(signingRegion({ ...AWS, region: null, endpointUrl })).toBe("auto");
    expect(signingRegion({ ...AWS, region: null, endpointUrl: "https://x.example.com" })).toBe("us-east-1");
  });

  it("encodes keys whole, so that the path on the wire is the one that is signed", () => {
    expect(encodeKey("a b/export_id=1/(x)'*!+é.parquet")).toBe("a%20b/export_id%3D1/%28x%29%27%2A%21%2B%C3%A9.parquet");
  });
});
