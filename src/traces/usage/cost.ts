/** Amounts of US dollars. */

/** The amount in 12 digits. The sum of many binary fractions differs from the sum of the prices in later ones. */
export function roundCost(dollars: number): number {
  return Number(dollars.toPrecision(12));
}
