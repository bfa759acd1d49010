export function AdaptersRoute() {
  return null;
}
