# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is done to objects, each verb in one atomic step.

Who lives here: `api`, the verbs that every kind has; subresources and patches beside it;
`operations`, which sends a request to one of them. What may be touched from outside: `api.Api` and
`operations.Operations`.
"""
