/**
 * All that the page asks `Intl`; format.ts, time.ts and few others have the formats. They are made when they are used first: each
 * takes milliseconds on a slow processor, and a view uses few.
 */

interface Format<T> {
  format(value: T): string;
}

function later<T>(make: () => Format<T>): Format<T> {
  let made: Format<T> | undefined;
  return { format: (value) => (made ??= make()).format(value) };
}

/** Dates in the language of the browser. */
export const dates = (options: Intl.DateTimeFormatOptions): Format<Date> =>
  later(() => new Intl.DateTimeFormat(undefined, options));

/** Numbers in the language of the browser. */
export const numbers = (options: Intl.NumberFormatOptions = {}): Format<number> =>
  later(() => new Intl.NumberFormat(undefined, options));

/** The browser's time zone: "Europe/Berlin". */
export const timeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;

export const listTimeZones = () => ["UTC", ...Intl.supportedValuesOf("timeZone")];
