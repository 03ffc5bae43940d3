import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Whether both are missing, or it is the private key of the certificate; both in PEM. */
export function arePair(certificate: string | undefined, key: string | undefined): boolean {
  if (certificate === undefined || key === undefined) return certificate === key;
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
