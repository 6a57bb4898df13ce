/** Formats of `Intl` that are made when they are used first: each takes milliseconds on a slow processor, and a view uses few. */

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
