import { describe, expect, it } from "vitest";
import { dueTimes, nextDue } from "../../../src/automation/crons/schedule.ts";

const at = (text: string) => Date.parse(text);
const iso = (times: (number | null)[]) => times.map((time) => time && new Date(time).toISOString().slice(0, 16));
const every = (schedule: string, timezone: string | null = null, endTime: number | null = null) => ({
  schedule,
  timezone,
  endTime,
});

describe("a schedule", () => {
  it("is read in its time zone, also when the clocks change", () => {
    const berlin = every("30 9 * * *", "Europe/Berlin");
    expect(iso([nextDue(berlin, at("2026-03-28T00:00Z"))])).toEqual(["2026-03-28T08:30"]);
    expect(iso([nextDue(berlin, at("2026-03-28T12:00Z"))])).toEqual(["2026-03-29T07:30"]);
    expect(iso([nextDue(every("30 9 * * *"), at("2026-03-28T12:00Z"))])).toEqual(["2026-03-29T09:30"]);
  });

  it("ends with its end time", () => {
    const ending = every("0 * * * *", null, at("2026-01-01T02:00Z"));
    expect(iso([nextDue(ending, at("2026-01-01T01:00Z")), nextDue(ending, at("2026-01-01T02:00Z"))])).toEqual([
      "2026-01-01T02:00",
      null,
    ]);
  });
});

describe("what was missed", () => {
  it("is nothing before the first due time", () => {
    expect(dueTimes(every("* * * * *"), at("2026-01-01T00:01Z"), at("2026-01-01T00:00:59Z"))).toEqual([]);
  });

  it("is fired for an hour back", () => {
    const missed = dueTimes(every("*/20 * * * *"), at("2026-01-01T00:00Z"), at("2026-01-01T03:05Z"));
    expect(iso(missed)).toEqual(["2026-01-01T02:20", "2026-01-01T02:40", "2026-01-01T03:00"]);
  });

  it("is at least the latest, however long ago", () => {
    const missed = dueTimes(every("0 9 * * *"), at("2026-01-01T09:00Z"), at("2026-01-05T12:00Z"));
    expect(iso(missed)).toEqual(["2026-01-05T09:00"]);
    const ended = every("0 9 * * *", null, at("2026-01-03T00:00Z"));
    expect(iso(dueTimes(ended, at("2026-01-01T09:00Z"), at("2026-01-05T12:00Z")))).toEqual(["2026-01-02T09:00"]);
  });
});
