import { describe, expect, it } from "vitest";
import { endpointFault } from "../../src/http/addresses.ts";

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
