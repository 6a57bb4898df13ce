/** Two years of cron in ten time zones, against a model that reads only the clock of the zone, tick by tick. */
import { expect, it } from "vitest";
import { dueTimes, nextDue, type Schedule } from "../../../src/automation/crons/schedule.ts";
import { seeded } from "../../support/random.ts";

const FROM = Date.parse("2026-01-02T00:00:00Z");
const UNTIL = Date.parse("2028-01-02T00:00:00Z");
/** Every offset of a time zone is a whole number of these. */
const QUARTER = 15 * 60_000;

/** Zones whose clocks change by an hour, half an hour and two hours, at midnight, on both hemispheres, and never. */
const ZONES = [
  "Australia/Lord_Howe",
  "UTC",
  "Europe/Berlin",
  "America/St_Johns",
  "America/Santiago",
  "Antarctica/Troll",
  "Pacific/Chatham",
  "Africa/Casablanca",
  "Asia/Kolkata",
  "America/New_York",
];

interface Quarter {
  time: number;
  day: string;
  clock: string;
}

function listQuarters(timeZone: string): Quarter[] {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const quarters: Quarter[] = [];
  for (let time = FROM; time < UNTIL; time += QUARTER) {
    const [day = "", clock = ""] = format.format(time).split(" ");
    quarters.push({ time, day, clock });
  }
  return quarters;
}

/** Once a day: at this time, or at the first moment after it when the clocks skip it; the first time when they repeat it. */
function listDaily(quarters: Quarter[], clock: string): number[] {
  const first = new Map<string, number>();
  for (const one of quarters) if (one.clock >= clock && !first.has(one.day)) first.set(one.day, one.time);
  return [...first.values()];
}

const SCHEDULES: Record<string, (quarters: Quarter[]) => number[]> = {
  "30 2 * * *": (quarters) => listDaily(quarters, "02:30"),
  "0 0 * * *": (quarters) => listDaily(quarters, "00:00"),
  // Of several times a day, one that the clocks skip is not fired: the next one of the day follows.
  "0 0,6,12,18 * * *": (quarters) => {
    const times = ["00:00", "06:00", "12:00", "18:00"].flatMap((clock) => listDaily(quarters, clock));
    const onTheHour = new Set(quarters.filter(({ clock }) => /^(00|06|12|18):00$/.test(clock)).map(({ time }) => time));
    return times.filter((time) => onTheHour.has(time)).toSorted((a, b) => a - b);
  },
};

/** Zones whose clocks change by half an hour and by two. */
const HOURLY_ZONES = ["Australia/Lord_Howe", "Antarctica/Troll"];
const HOURLY: typeof SCHEDULES = {
  "0 * * * *": (quarters) => quarters.filter(({ clock }) => clock.endsWith(":00")).map(({ time }) => time),
};

/** What the minute cron fires, when its ticks are late by up to an hour. */
function listFired(schedule: Schedule, random: ReturnType<typeof seeded>): number[] {
  const times: number[] = [];
  let next = nextDue(schedule, FROM - 1);
  for (let now = FROM; next !== null && now < UNTIL + 3_600_000; now += random.between(1, 60) * 60_000) {
    const due = dueTimes(schedule, next, now);
    times.push(...due);
    const last = due.at(-1);
    if (last !== undefined) next = nextDue(schedule, last);
  }
  return times.filter((time) => time < UNTIL);
}

const iso = (times: number[]) => times.map((time) => new Date(time).toISOString());

it.each(ZONES)("fires each due time once over two years in %s", { timeout: 120_000 }, (timezone) => {
  const random = seeded(`years in ${timezone}`);
  const quarters = listQuarters(timezone);
  for (const [schedule, model] of Object.entries({
    ...SCHEDULES,
    ...(HOURLY_ZONES.includes(timezone) && HOURLY),
  })) {
    // The first local day has begun before the first quarter.
    const expected = model(quarters).filter((time) => time >= FROM + 86_400_000);
    const times = listFired({ schedule, timezone, endTime: null }, random).filter((time) => time >= FROM + 86_400_000);
    expect({ schedule, times: iso(times) }).toEqual({ schedule, times: iso(expected) });
  }
});
