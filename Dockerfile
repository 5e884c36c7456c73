# docker build -t dpaccount . && docker run --rm -v "$PWD:/work" dpaccount release study.toml --yes
FROM python:3.11-slim
WORKDIR /opt/dpaccount
COPY requirements.lock pyproject.toml README.md LICENSE dpaccount_packages.py pytest_dpaccount.py ./
COPY .ci .ci
COPY dpaccount dpaccount
COPY mechanisms mechanisms
COPY bandits bandits
COPY audits audits
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock && pip install --no-cache-dir --no-deps --no-build-isolation .
WORKDIR /work
ENTRYPOINT ["dpaccount"]
