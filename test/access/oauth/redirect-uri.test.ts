import { describe, expect, it } from "vitest";
import { isRegistered, judgeRedirectUri } from "../../../src/access/oauth/redirect-uri.ts";
import { ALLOWED, DROPPED, REFUSED } from "./redirect-uris.ts";

describe("redirect URIs", () => {
  const table = [
    ...ALLOWED.map(([uri, why]) => ({ uri, why, verdict: "allowed" })),
    ...DROPPED.map(([uri, why]) => ({ uri, why, verdict: "dropped" })),
    ...REFUSED.map(([uri, why]) => ({ uri, why, verdict: "refused" })),
  ];

  it("are at least a hundred in the table, none twice", () => {
    expect(table.length).toBeGreaterThanOrEqual(100);
    expect(new Set(table.map(({ uri }) => uri)).size).toBe(table.length);
  });

  it.each(table)("$verdict: $uri ($why)", ({ uri, verdict }) => {
    const judged = judgeRedirectUri(uri);
    expect(judged.verdict).toBe(verdict);
    // RFC 6749 section 5.2: what may stand in an error_description.
    expect(judged.reason).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  });
});

describe("a requested redirect URI", () => {
  const cases: [registered: string, requested: string, same: boolean, why: string][] = [
    ["http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true, "loopback: any port at request time"],
    ["http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true, "loopback: another port"],
    ["http://127.0.0.1:1/cb", "http://127.0.0.1/cb", true, "loopback: no port"],
    ["http://[::1]:1/cb?a=1", "http://[::1]:2/cb?a=1", true, "IPv6 loopback: another port"],
    ["http://localhost:1/cb", "http://localhost:2/cb", true, "localhost: another port"],
    ["http://localhost:1/cb", "http://127.0.0.1:1/cb", false, "names of the loopback are not mixed"],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5000/cb/", false, "path differs"],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5000/cb?x=1", false, "query differs"],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5000/CB", false, "case of the path differs"],
    ["http://127.0.0.1/cb", "http://127.0.0.1:5@evil.com/cb", false, "the port is a password"],
    ["http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", false, "no such port"],
    ["http://127.0.0.1:5/cb", "https://127.0.0.1:5/cb", false, "scheme differs"],
    ["https://example.com/cb", "https://example.com:443/cb", false, "byte for byte off the loopback"],
    ["https://example.com/cb", "https://example.com/cb/", false, "path differs"],
    ["https://example.com/cb", "https://example.com/cb%2f", false, "path differs"],
    ["https://example.com/cb", "https://example.com:8443/cb", false, "port differs"],
    ["https://example.com", "https://example.com/", false, "byte for byte"],
    ["com.example.app:/cb", "com.example.app:/cb", true, "equal"],
    ["com.example.app:/cb", "com.example.app:/cb?x", false, "query differs"],
  ];
  it.each(cases)("%s / %s: %s (%s)", (registered, requested, same) => {
    expect(isRegistered(requested, [registered])).toBe(same);
  });
});
