import { describe, expect, it } from "vitest";
import { type BucketAddress, bucketUrl, encodeKey, signingRegion } from "../../src/s3/address.ts";
import { endpointFault } from "../../src/s3/guard.ts";

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

describe("an endpoint", () => {
  it.for([
    "http://s3.example.com",
    "ftp://s3.example.com",
    "file:///etc/passwd",
    "not a url",
    "https://user:pass@s3.example.com",
    "https://s3.example.com/?x=1",
    "https://s3.example.com/#x",
    "https://localhost",
    "https://LOCALHOST.",
    "https://foo.localhost:9000",
    "https://minio",
    "https://minio.internal",
    "https://metadata.google.internal/computeMetadata/v1",
    "https://printer.local",
    "https://127.0.0.1",
    "https://127.1",
    "https://2130706433",
    "https://0x7f.0.0.1",
    "https://0177.0.0.1",
    "https://0.0.0.0",
    "https://10.1.2.3",
    "https://172.16.0.1",
    "https://192.168.1.1",
    "https://169.254.169.254/latest/meta-data",
    "https://100.100.100.200",
    "https://100.64.0.1",
    "https://192.0.0.192",
    "https://198.18.0.1",
    "https://224.0.0.1",
    "https://255.255.255.255",
    "https://[::1]",
    "https://[::]",
    "https://[::ffff:127.0.0.1]",
    "https://[::ffff:a9fe:a9fe]",
    "https://[64:ff9b::a9fe:a9fe]",
    "https://[2002:7f00:1::]",
    "https://[fe80::1]",
    "https://[fd00:ec2::254]",
    "https://[ff02::1]",
    "https://①②⑦.0.0.1",
  ])("%s is refused", (url) => {
    expect(endpointFault(url, false)).toMatch(/^must /);
  });

  it.for([
    "https://s3.eu-west-1.amazonaws.com",
    "https://storage.googleapis.com",
    "https://1.1.1.1",
    "https://[2606:4700::1111]:9000",
  ])("%s is accepted", (url) => {
    expect(endpointFault(url, false)).toBeUndefined();
  });

  it("may be private when the deployment says so, but still only http or https, without credentials", () => {
    expect(endpointFault("http://127.0.0.1:9000", true)).toBeUndefined();
    expect(endpointFault("ftp://127.0.0.1", true)).toMatch(/^must /);
    expect(endpointFault("http://a:b@127.0.0.1", true)).toMatch(/^must /);
  });
});
