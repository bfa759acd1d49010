export function NewJobRoute() {
  return null;
}
