/** The schedule field: five cron fields, common ones to choose, and the next due times as a check. */
import { Cron } from "croner";
import { useId } from "react";
import controls from "../../ui/controls.module.css";
import { listTimeZones } from "../../ui/intl.ts";
import work from "../../resources/work.module.css";
import { fullTime } from "../../ui/days.ts";

const COMMON = [
  { schedule: "0 * * * *", name: "Every hour" },
  { schedule: "0 9 * * *", name: "Every day at 9:00" },
  { schedule: "0 9 * * 1-5", name: "Weekdays at 9:00" },
  { schedule: "0 9 * * 1", name: "Mondays at 9:00" },
];

const SHOWN = 3;

/** The next due times, or what is wrong with the schedule or the time zone. */
export function nextTimes(schedule: string, timezone: string): { times: string[]; error?: string } {
  try {
    const cron = new Cron(schedule.trim(), { timezone: timezone.trim() || "UTC", mode: "5-part", paused: true });
    const times = cron.nextRuns(SHOWN).map((at) => at.toISOString());
    return times.length > 0 ? { times } : { times, error: "This schedule is never due." };
  } catch {
    const fields = schedule.trim().split(/\s+/).length;
    if (fields !== 5)
      return {
        times: [],
        error: `Write five fields: minute, hour, day of month, month, weekday. There are ${fields}.`,
      };
    return { times: [], error: "The schedule or the time zone is not valid." };
  }
}

export function Schedule({
  schedule,
  timezone,
  onSchedule,
  onTimezone,
}: {
  schedule: string;
  timezone: string;
  onSchedule: (schedule: string) => void;
  onTimezone: (timezone: string) => void;
}) {
  const id = useId();
  const { times, error } = nextTimes(schedule, timezone);
  return (
    <>
      <div className={controls.row}>
        <label htmlFor={`${id}-schedule`} className={controls.label}>
          Schedule
        </label>
        <input
          id={`${id}-schedule`}
          className={`${controls.field} ${controls.json}`}
          autoComplete="off"
          spellCheck={false}
          value={schedule}
          aria-invalid={error !== undefined}
          aria-describedby={`${id}-next`}
          onChange={(event) => onSchedule(event.target.value)}
        />
        <div className={work.chips}>
          {COMMON.map((one) => (
            <button
              key={one.schedule}
              type="button"
              className={work.chip}
              aria-pressed={schedule.trim() === one.schedule}
              onClick={() => onSchedule(one.schedule)}
            >
              {one.name}
            </button>
          ))}
        </div>
      </div>
      <div className={controls.row}>
        <label htmlFor={`${id}-zone`} className={controls.label}>
          Time zone
        </label>
        <input
          id={`${id}-zone`}
          className={controls.field}
          list={`${id}-zones`}
          autoComplete="off"
          spellCheck={false}
          value={timezone}
          onChange={(event) => onTimezone(event.target.value)}
        />
        <datalist id={`${id}-zones`}>
          {listTimeZones().map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        <div id={`${id}-next`} aria-live="polite">
          {error === undefined ? (
            <p className={controls.help}>Next, in your time: {times.map(fullTime).join(" · ")}</p>
          ) : (
            <p className={controls.error}>{error}</p>
          )}
        </div>
      </div>
    </>
  );
}
