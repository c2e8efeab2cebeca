# SPDX-License-Identifier: Apache-2.0
"""Reads what `twice export` wrote with the packages of in-toto, DSSE and Sigstore.

    check.py PUBLIC_PEM KEY_ID ENVELOPES BUNDLE
"""
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.predicates.vsa.v1 import vsa_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey
from sigstore import dsse as sigstore_dsse
from sigstore_models.bundle.v1 import Bundle

PREDICATES = {'https://in-toto.io/attestation/test-result/v0.1': test_result_pb2.TestResult,
              'https://slsa.dev/verification_summary/v1': vsa_pb2.VerificationSummary}


def securesystemslib(envelope, key):
    assert list(Envelope.from_dict(json.loads(envelope)).verify([key], 1))
    for member in ('payload', 'payloadType'):
        other = json.loads(envelope)
        other[member] = 'AAAA' + other[member]
        try:
            Envelope.from_dict(other).verify([key], 1)
        except VerificationError:
            continue
        raise AssertionError('a changed %s passes' % member)


def in_toto(payload):
    statement = json_format.Parse(payload, statement_pb2.Statement())
    Statement.copy_from_pb(statement).validate()
    kind = PREDICATES.get(statement.predicate_type)
    if kind:
        predicate = json_format.MessageToDict(statement.predicate)
        # SLSA has a list here; the package (0.9.3) has one text.
        levels = predicate.pop('verifiedLevels', ['x'])
        assert levels and all(isinstance(x, str) for x in levels), levels
        json_format.ParseDict(predicate, kind())
    return statement.predicate_type


def main():
    with open(sys.argv[1], 'rb') as f:
        public = load_pem_public_key(f.read())
    key = SSlibKey.from_crypto(public, keyid=sys.argv[2])
    with open(sys.argv[3], encoding='utf-8') as f:
        for line in f:
            securesystemslib(line, key)
            envelope = sigstore_dsse.Envelope._from_json(line)  # pylint: disable=protected-access
            payload = sigstore_dsse._verify(public, envelope)  # pylint: disable=protected-access
            sigstore_dsse.Statement(payload)
            print('envelope', in_toto(payload))
    with open(sys.argv[4], encoding='utf-8') as f:
        text = f.read()
    bundle = Bundle.from_json(text)
    assert bundle.media_type == 'application/vnd.dev.sigstore.bundle.v0.3+json', bundle.media_type
    assert bundle.verification_material.public_key.hint, 'no hint'
    securesystemslib(json.dumps(json.loads(text)['dsseEnvelope']), key)
    print('bundle', bundle.media_type)


main()
