/** An error of the user's project or machine. The command prints its message without a stack and ends with code 1. */
export class Fault extends Error {
  override name = "Fault";
}
