# synparse for the CPU, with the tested versions: docker build -t synparse . && docker run --rm -i synparse --help
FROM python:3.11-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt --extra-index-url https://download.pytorch.org/whl/cpu /src \
    && rm -r /src
WORKDIR /data
ENTRYPOINT ["synparse"]
