"""The official Python client against the notes server: over stdio and over HTTP, three acts each.

Happy path, decline, replay. The client is the SDK's own; nothing in it knows this lab.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from hosts import build
from kit.http_loop import HttpLoop
from kit.notes import ALICE
from kit.parts import ROOT
from kit.randomness import SystemRandomness
from kit.secrets_file import Secrets
