export function ModelsRoute() {
  return null;
}
