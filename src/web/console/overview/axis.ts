/** Times below a plot, on one line: the hour, and the day where a day begins. */

const DAY = 86_400;

export function timeLabels(utc: boolean): (seconds: number[], step: number) => string[] {
  const zone = utc ? { timeZone: "UTC" } : {};
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...zone });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "numeric", ...zone });
  const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", ...zone });
  const begins = (at: Date) =>
    utc ? at.getTime() % (DAY * 1000) === 0 : at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
  return (seconds, step) =>
    seconds.map((second) => {
      const at = new Date(second * 1000);
      if (step >= DAY || begins(at)) return day.format(at);
      return (step >= 3600 ? hour : minute).format(at);
    });
}
