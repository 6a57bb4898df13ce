import { describe, expect, it } from "vitest";
import {
  axisWidth,
  countLabels,
  durationLabels,
  timeLabels,
  valueLabels,
} from "../../packages/web/console/overview/axis.ts";
import { axisText, costText, durationText, scoreText, secondsText } from "../../packages/web/ui/format.ts";
import { changeText } from "../../packages/web/ui/shares.ts";

describe("a duration in words", () => {
  it("has two units only where the smaller one is not zero", () => {
    expect([0, 0.000_4, 0.012, 1.236, 12.34, 60, 125, 3_600, 5_400, 86_400, 100_000].map(durationText)).toEqual([
      "< 1 ms",
      "< 1 ms",
      "12 ms",
      "1.24 s",
      "12.3 s",
      "1 min",
      "2 min 5 s",
      "1 h",
      "1 h 30 min",
      "1 d",
      "1 d 3 h",
    ]);
  });

  it("has no zeros after the point beside an axis", () => {
    expect([0, 0.5, 2, 2.5, 20, 60].map(axisText)).toEqual(["0", "500 ms", "2 s", "2.50 s", "20 s", "1 min"]);
  });
});

it("has no fraction where the seconds are counted", () => {
  expect([0, 1, 59, 60, 125].map(secondsText)).toEqual(["0 s", "1 s", "59 s", "1 min", "2 min 5 s"]);
});

it("has a score with three figures after the point at most", () => {
  expect([0, 1, 0.5, 2 / 3, 1_234.5].map(scoreText)).toEqual(["0", "1", "0.5", "0.667", "1,234.5"]);
});

describe("the times below a plot", () => {
  const at = (iso: string) => Date.parse(iso) / 1000;
  const labels = timeLabels(true);

  it("name the day where one begins, and the hour elsewhere", () => {
    const [night, noon] = labels([at("2026-11-23T00:00Z"), at("2026-11-23T12:00Z")], 3 * 3600);
    expect(night).toContain("23");
    expect(noon).toContain("12");
    expect(noon).not.toContain("23");
  });

  it("are days where a step is a day or longer", () => {
    const [day] = labels([at("2026-11-23T12:00Z")], 86_400);
    expect(day).toContain("23");
  });
});

describe("the values beside a plot", () => {
  it("are round, and the last is not below the greatest value", () => {
    expect([0, 1, 8.45, 35, 41, 8_000].map(valueLabels)).toEqual([
      [0, 1],
      [0, 0.5, 1],
      [0, 5, 10],
      [0, 10, 20, 30, 40],
      [0, 20, 40, 60],
      [0, 2_000, 4_000, 6_000, 8_000],
    ]);
  });
});

describe("the durations beside a plot", () => {
  it("are whole minutes, hours and days above a minute", () => {
    expect([0.8, 70, 400, 5_000, 30_000, 100_000, 5 * 86_400].map((max) => durationLabels(max).map(axisText))).toEqual([
      ["0", "200 ms", "400 ms", "600 ms", "800 ms"],
      ["0", "20 s", "40 s", "1 min", "1 min 20 s"],
      ["0", "2 min", "4 min", "6 min", "8 min"],
      ["0", "30 min", "1 h", "1 h 30 min"],
      ["0", "3 h", "6 h", "9 h"],
      ["0", "12 h", "1 d", "1 d 12 h"],
      ["0", "2 d", "4 d", "6 d"],
    ]);
  });

  it("have as much room as their longest label", () => {
    expect(axisWidth(["0", "1 h 30 min"])).toBeGreaterThan(axisWidth(["0", "200 ms"]));
  });
});

describe("the counts beside a plot", () => {
  it("have no fractions", () => {
    expect([1, 2, 3].map(countLabels)).toEqual([
      [0, 1],
      [0, 1, 2],
      [0, 1, 2, 3],
    ]);
  });
});

describe("an amount of money", () => {
  it("has cents, and two figures below a cent", () => {
    expect([12.3, "0.278", 0.09, 0.0042, 0.000_000_1, 0].map(costText)).toEqual([
      "$12.30",
      "$0.28",
      "$0.09",
      "$0.0042",
      "< $0.00001",
      "$0.00",
    ]);
  });
});

describe("a change against the period before", () => {
  it("is a share with its sign, and nothing where there was nothing", () => {
    expect([changeText(112, 100), changeText(50, 100), changeText(5, 5)]).toEqual([
      "+12% on the period before",
      "-50% on the period before",
      "0% on the period before",
    ]);
    expect([changeText(5, 0), changeText(null, 1)]).toEqual(["", ""]);
  });
});
